//! Types by name.

use super::{CompositeKind, NameId, TypeId, TypeKind, TypeTable};
use rustc_hash::FxHashMap;

/// Names that are told where one is not there.
const MOST_NEAR: usize = 5;
/// Bytes of names that are compared to find near ones.
const LONGEST_NEAR: usize = 256;
/// A name is near when so much of it is the same.
const NEAR: f64 = 0.75;

impl TypeTable {
    pub(super) fn index_names(&mut self) {
        let named = |id: TypeId| {
            let entry = self.get(id);
            let is_told = matches!(
                entry.kind,
                TypeKind::Composite(_)
                    | TypeKind::Enumeration { .. }
                    | TypeKind::Alias { .. }
                    | TypeKind::Number(_)
            );
            entry.name.filter(|_| is_told).map(|name| (name, id))
        };
        let mut by_name: Vec<_> = self.ids().filter_map(named).collect();
        by_name.sort_unstable();
        self.by_name = by_name;
    }

    /// Those with a name of their own, whatever they are in.
    pub(super) fn with_own_name(&self, name: NameId) -> impl Iterator<Item = TypeId> + Clone + '_ {
        let start = self.by_name.partition_point(|entry| entry.0 < name);
        let rest = self.by_name[start..].iter();
        rest.take_while(move |entry| entry.0 == name).map(|entry| entry.1)
    }

    /// The definitions that a name means: `node`, `struct node`, `ns::node`,
    /// `crate::module::Node<T>`. A name without namespaces or without
    /// arguments in `<>` means all that have it. Typedefs are told only
    /// where nothing else has the name.
    pub fn named(&self, name: &str) -> Vec<TypeId> {
        let (sort, name) = keyword(name.trim());
        let wanted = squeezed(name);
        let own = own_name(&wanted);
        let scoped = own.len() < wanted.len();
        let fits = |&id: &TypeId| {
            let is_sort = sort.is_none_or(|sort| self.is_called(id, sort));
            is_sort && (!scoped || ends_with(&squeezed(&self.full_name(id)), &wanted))
        };
        let exact = self.names.find(own_name(name)).into_iter();
        let mut found: Vec<_> =
            exact.flat_map(|own| self.with_own_name(own)).filter(fits).collect();
        if found.is_empty() {
            // Written in another way, or without its arguments.
            let mut likes: FxHashMap<NameId, bool> = FxHashMap::default();
            let mut is_like = |name: NameId| {
                *likes.entry(name).or_insert_with(|| {
                    let text = squeezed(self.text(name));
                    text == own || (!own.contains('<') && text.split('<').next() == Some(own))
                })
            };
            let bare = |id: &TypeId| {
                let full = squeezed(&self.full_name(*id));
                let full = match own.contains('<') {
                    true => full.as_str(),
                    false => &full[..last_argument(&full)],
                };
                sort.is_none_or(|sort| self.is_called(*id, sort))
                    && (!scoped || ends_with(full, &wanted))
            };
            found = self
                .by_name
                .iter()
                .filter(|(name, _)| is_like(*name))
                .map(|(_, id)| *id)
                .filter(bare)
                .collect();
        }
        let is_defined = |id: &TypeId| {
            matches!(self.get(*id).kind, TypeKind::Composite(_) | TypeKind::Enumeration { .. })
        };
        if found.iter().any(is_defined) {
            found.retain(is_defined);
        }
        found
    }

    fn is_called(&self, id: TypeId, sort: CompositeKind) -> bool {
        match (&self.get(id).kind, sort) {
            (TypeKind::Composite(composite), _) => {
                (composite.sort == CompositeKind::Union) == (sort == CompositeKind::Union)
                    && (sort != CompositeKind::Enum || composite.has_variants)
            }
            (TypeKind::Enumeration { .. }, CompositeKind::Enum) => true,
            _ => false,
        }
    }

    /// Names that are like one that is not there, the nearest first.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        let (_, name) = keyword(name.trim());
        let wanted = own_name(name).to_lowercase();
        if wanted.len() > LONGEST_NEAR {
            return Vec::new();
        }
        let mut last = None;
        let mut near = Vec::new();
        for &(name, id) in &self.by_name {
            let text = self.text(name);
            if last.replace(name) == Some(name) || text.len() > LONGEST_NEAR {
                continue;
            }
            let lower = text.to_lowercase();
            let mut score = strsim::jaro_winkler(&wanted, &lower);
            if wanted.len() > 2 && lower.contains(&wanted) {
                score = score.max(0.9);
            }
            if score >= NEAR {
                near.push((score, id));
            }
        }
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near.into_iter().take(MOST_NEAR).map(|(_, id)| self.full_name(id)).collect()
    }
}

/// A name parted from the word before it.
fn keyword(name: &str) -> (Option<CompositeKind>, &str) {
    let words = [
        ("struct ", CompositeKind::Struct),
        ("class ", CompositeKind::Class),
        ("union ", CompositeKind::Union),
        ("enum ", CompositeKind::Enum),
    ];
    let found = words.into_iter().find_map(|(word, sort)| Some((sort, name.strip_prefix(word)?)));
    match found {
        Some((sort, rest)) => (Some(sort), rest.trim_start()),
        None => (None, name),
    }
}

/// Without blanks that mean nothing.
fn squeezed(name: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let parts = text.ends_with(is_word) && chars.peek().copied().is_some_and(is_word);
        if c != ' ' || parts {
            text.push(c);
        }
    }
    text
}

/// What stands behind the last `::` that is not within arguments.
fn own_name(name: &str) -> &str {
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' | '{' => depth += 1,
            '>' | ')' | '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// Where the arguments of the last name begin.
fn last_argument(full: &str) -> usize {
    let own = own_name(full);
    full.len() - own.len() + own.find('<').unwrap_or(own.len())
}

/// Whether a full name ends with one, at the border of a namespace.
fn ends_with(full: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_start_matches("::");
    full.strip_suffix(wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}
