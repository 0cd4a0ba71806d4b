//! Types as their language writes them.

use crate::table::{
    MOST_STEPS, MemberKind, PointerKind, Qualifier, TypeId, TypeKind, TypeLanguage, TypeTable,
};

/// Types that one spelling is made of.
const MOST_LOOKS: usize = 256;

/// A name with its type, in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declarator {
    pub of: String,
    /// The name with what is written around it: `*next`, `name[16]`.
    pub rest: String,
}

impl TypeTable {
    pub fn spelled(&self, id: TypeId, language: TypeLanguage) -> String {
        self.declaration(id, "", language)
    }

    /// A name with its type, as in [`TypeTable::declaration`], in two parts: the
    /// type without what is written around the name, and the rest.
    pub fn declarator(&self, id: TypeId, name: &str, language: TypeLanguage) -> Declarator {
        let mut left = MOST_LOOKS;
        match language {
            TypeLanguage::Rust => {
                let of = self.in_rust(id, MOST_STEPS, &mut left);
                Declarator { of, rest: name.to_owned() }
            }
            _ => self.declared(id, name.to_owned(), language, &mut left),
        }
    }

    /// A name with its type: `char name[16]`, `int (*name)(void)`; in Rust
    /// `name: [u8; 16]`.
    pub fn declaration(&self, id: TypeId, name: &str, language: TypeLanguage) -> String {
        let Declarator { of, rest } = self.declarator(id, name, language);
        match (language, rest.is_empty()) {
            (_, true) => of,
            (TypeLanguage::Rust, false) => format!("{rest}: {of}"),
            (_, false) => format!("{of} {rest}"),
        }
    }

    fn declared(
        &self,
        id: TypeId,
        inner: String,
        language: TypeLanguage,
        left: &mut usize,
    ) -> Declarator {
        let (mut at, mut inner) = (id, inner);
        let mut words = Vec::new();
        loop {
            let Some(less) = left.checked_sub(1) else { return joined(&words, "...", inner) };
            *left = less;
            let entry = self.get(at);
            if entry.name.is_some() && !matches!(entry.kind, TypeKind::Pointer { .. }) {
                return joined(&words, &self.named_in(at, language), inner);
            }
            match &entry.kind {
                TypeKind::Void => return joined(&words, "void", inner),
                TypeKind::Pointer { to, sort } => {
                    let sign = match sort {
                        PointerKind::Pointer => "*",
                        PointerKind::Reference => "&",
                        PointerKind::RvalueReference => "&&",
                        PointerKind::Member => "::*",
                    };
                    let is_tight = matches!(
                        self.get(*to),
                        entry if entry.name.is_none()
                            && matches!(entry.kind, TypeKind::Array { .. } | TypeKind::Function { .. })
                    );
                    let qualifiers = std::mem::take(&mut words).join(" ");
                    let gap = if qualifiers.is_empty() || inner.is_empty() { "" } else { " " };
                    inner = match is_tight {
                        true => format!("({sign}{qualifiers}{gap}{inner})"),
                        false => format!("{sign}{qualifiers}{gap}{inner}"),
                    };
                    at = *to;
                }
                TypeKind::Array { of, count } => {
                    inner = match count {
                        Some(count) => format!("{inner}[{count}]"),
                        None => format!("{inner}[]"),
                    };
                    at = *of;
                }
                TypeKind::Function { returns, parameters, is_open } => {
                    let mut told: Vec<_> = self
                        .parameters(parameters)
                        .iter()
                        .take(MOST_STEPS)
                        .map(|&of| self.declared(of, String::new(), language, left).together())
                        .collect();
                    if *is_open {
                        told.push("...".to_owned());
                    }
                    if told.is_empty() {
                        told.push("void".to_owned());
                    }
                    inner = format!("{inner}({})", told.join(", "));
                    at = *returns;
                }
                TypeKind::Qualified { of, by } => {
                    words.extend(word(*by));
                    at = *of;
                }
                TypeKind::Declared { definition: Some(of), .. } => at = *of,
                TypeKind::Composite(_)
                | TypeKind::Enumeration { .. }
                | TypeKind::Declared { .. } => {
                    let text = format!("{} {{...}}", self.keyword(at));
                    return joined(&words, &text, inner);
                }
                TypeKind::Number(_) | TypeKind::Alias { .. } | TypeKind::Unread => {
                    return joined(&words, "?", inner);
                }
            }
        }
    }

    fn named_in(&self, id: TypeId, language: TypeLanguage) -> String {
        let name = self.full_name(id);
        let is_tagged = matches!(
            self.get(id).kind,
            TypeKind::Composite(_) | TypeKind::Enumeration { .. } | TypeKind::Declared { .. }
        );
        match language {
            TypeLanguage::C | TypeLanguage::Other if is_tagged => {
                format!("{} {name}", self.keyword(id))
            }
            _ => name,
        }
    }

    fn in_rust(&self, id: TypeId, depth: usize, left: &mut usize) -> String {
        let (Some(less), Some(depth)) = (left.checked_sub(1), depth.checked_sub(1)) else {
            return "...".to_owned();
        };
        *left = less;
        let entry = self.get(id);
        if entry.name.is_some() {
            return self.full_name(id);
        }
        match &entry.kind {
            TypeKind::Void => "()".to_owned(),
            TypeKind::Array { of, count } => {
                let of = self.in_rust(*of, depth, left);
                match count {
                    Some(count) => format!("[{of}; {count}]"),
                    None => format!("[{of}]"),
                }
            }
            TypeKind::Pointer { to, .. } => format!("*{}", self.in_rust(*to, depth, left)),
            TypeKind::Qualified { of, .. } | TypeKind::Declared { definition: Some(of), .. } => {
                self.in_rust(*of, depth, left)
            }
            TypeKind::Function { returns, parameters, .. } => {
                let told: Vec<_> = self
                    .parameters(parameters)
                    .iter()
                    .take(MOST_STEPS)
                    .map(|&of| self.in_rust(of, depth, left))
                    .collect();
                let back = match self.in_rust(*returns, depth, left) {
                    unit if unit == "()" => String::new(),
                    back => format!(" -> {back}"),
                };
                format!("fn({}){back}", told.join(", "))
            }
            TypeKind::Composite(_) | TypeKind::Enumeration { .. } => {
                format!("{} {{...}}", self.keyword(id))
            }
            TypeKind::Number(_)
            | TypeKind::Alias { .. }
            | TypeKind::Declared { .. }
            | TypeKind::Unread => "?".to_owned(),
        }
    }

    /// What a variant's discriminant is, in words: ` = 3`, ` = 1..=4`; empty
    /// for what no other variant has.
    pub fn discriminants_text(&self, sort: MemberKind) -> String {
        let MemberKind::Variant(number) = sort else { return String::new() };
        let Some(variant) = self.variant(number) else { return String::new() };
        let range = |range: &crate::table::DiscriminantRange| match range.first == range.last {
            true => range.first.to_string(),
            false => format!("{}..={}", range.first, range.last),
        };
        match variant.values.is_empty() {
            true => String::new(),
            false => {
                let told: Vec<_> = variant.values.iter().take(MOST_STEPS).map(range).collect();
                format!(" = {}", told.join(" | "))
            }
        }
    }
}

fn word(by: Qualifier) -> Option<&'static str> {
    match by {
        Qualifier::Const => Some("const"),
        Qualifier::Volatile => Some("volatile"),
        Qualifier::Restrict => Some("restrict"),
        Qualifier::Atomic => Some("_Atomic"),
        Qualifier::Other => None,
    }
}

fn joined(words: &[&str], of: &str, rest: String) -> Declarator {
    let mut text = words.join(" ");
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(of);
    Declarator { of: text, rest }
}

impl Declarator {
    fn together(self) -> String {
        match self.rest.is_empty() {
            true => self.of,
            false => format!("{} {}", self.of, self.rest),
        }
    }
}
