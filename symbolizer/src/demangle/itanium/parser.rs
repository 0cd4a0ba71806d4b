//! Reads a mangled name: what all of its parts have in common, functions and
//! what is made for them.

use super::node::{Kind, Node, NodeId, Nodes};

const MOST_NESTED: usize = 320;

#[derive(Debug)]
pub(super) struct Parser<'m> {
    text: &'m str,
    at: usize,
    pub(super) nodes: Nodes<'m>,
    substitutions: Vec<NodeId>,
    /// What constructors of the class that was named last are called.
    pub(super) last_name: Option<NodeId>,
    /// What is read is an expression: `cv` is a cast.
    pub(super) is_expression: bool,
    /// What is read is the type that a conversion operator converts to.
    pub(super) is_conversion: bool,
    depth: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    at: usize,
    substitutions: usize,
}

impl<'m> Parser<'m> {
    pub(super) fn new(text: &'m str) -> Parser<'m> {
        Parser {
            text,
            at: 0,
            nodes: Nodes::default(),
            substitutions: Vec::new(),
            last_name: None,
            is_expression: false,
            is_conversion: false,
            depth: 0,
        }
    }

    /// The whole text as a name: `_Z`, what is named, and suffixes of clones.
    pub(super) fn whole(&mut self) -> Option<NodeId> {
        self.expect(b'_')?;
        self.expect(b'Z')?;
        let mut name = self.encoding(true)?;
        while self.peek() == b'.' {
            let suffix = self.clone_suffix()?;
            name = self.tree(Kind::Clone, name, suffix)?;
        }
        (self.at == self.text.len()).then_some(name)
    }

    /// `.isra.0`, `.cold`.
    fn clone_suffix(&mut self) -> Option<NodeId> {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let start = self.at;
        if is_word(self.ahead(1)) {
            self.at += 2;
            while is_word(self.peek()) {
                self.at += 1;
            }
        }
        while self.peek() == b'.' && self.ahead(1).is_ascii_digit() {
            self.at += 2;
            while self.peek().is_ascii_digit() {
                self.at += 1;
            }
        }
        if self.at == start {
            return None;
        }
        self.nodes.add(Node::Text(self.text.get(start..self.at)?))
    }

    /// A function with its type, data, or what the compiler made for either.
    /// `top`: not within another name.
    pub(super) fn encoding(&mut self, top: bool) -> Option<NodeId> {
        self.deeper(|parser| {
            if matches!(parser.peek(), b'G' | b'T') {
                return parser.special_name();
            }
            let name = parser.name()?;
            if matches!(parser.peek(), 0 | b'E') {
                return Some(name);
            }
            let returns = parser.returns(name);
            let function = parser.bare_function_type(returns)?;
            // What is within a local function's scope shows no type of it.
            if !top && parser.nodes.kind(name) == Some(Kind::Local) {
                parser.drop_return_type(function);
            }
            parser.tree(Kind::Typed, name, function)
        })
    }

    pub(super) fn drop_return_type(&mut self, function: NodeId) {
        if let Some((_, parameters)) = self.nodes.parts(function, Kind::Function) {
            self.nodes.set(function, Node::Tree(Kind::Function, None, parameters));
        }
    }

    /// Whether a function of that name has its return type mangled: templates
    /// have, but what has no return type to be named.
    fn returns(&self, name: NodeId) -> bool {
        match self.nodes.get(name) {
            Node::Tree(Kind::Local, _, Some(inner)) => self.returns(inner),
            Node::Tree(kind, Some(inner), _) if kind.is_of_function() => self.returns(inner),
            Node::Tree(Kind::Template, Some(inner), _) => !self.is_unreturning(inner),
            _ => false,
        }
    }

    fn is_unreturning(&self, name: NodeId) -> bool {
        match self.nodes.get(name) {
            Node::Tree(Kind::Qualified | Kind::Local, _, Some(inner)) => self.is_unreturning(inner),
            Node::Tree(Kind::Constructor | Kind::Destructor | Kind::Conversion, ..) => true,
            _ => false,
        }
    }

    /// What compilers make: tables, thunks, guards.
    fn special_name(&mut self) -> Option<NodeId> {
        let (first, second) = (self.next()?, self.next()?);
        let words = match (first, second) {
            (b'T', b'V') => "vtable for ",
            (b'T', b'T') => "VTT for ",
            (b'T', b'I') => "typeinfo for ",
            (b'T', b'S') => "typeinfo name for ",
            (b'T', b'F') => "typeinfo fn for ",
            (b'T', b'J') => "java Class for ",
            (b'T', b'h') => {
                self.call_offset(b'h')?;
                "non-virtual thunk to "
            }
            (b'T', b'v') => {
                self.call_offset(b'v')?;
                "virtual thunk to "
            }
            (b'T', b'c') => {
                for _ in 0..2 {
                    let sort = self.next()?;
                    self.call_offset(sort)?;
                }
                "covariant return thunk to "
            }
            (b'T', b'C') => return self.construction_table(),
            (b'T', b'H') => "TLS init function for ",
            (b'T', b'W') => "TLS wrapper function for ",
            (b'T', b'A') => "template parameter object for ",
            (b'G', b'V') => "guard variable for ",
            (b'G', b'R') => {
                let name = self.name()?;
                let number = self.number()?;
                let number = self.nodes.add(Node::Number(number))?;
                return self.tree(Kind::ReferenceTemporary, name, number);
            }
            (b'G', b'A') => "hidden alias for ",
            (b'G', b'T') if self.next()? == b'n' => "non-transaction clone for ",
            (b'G', b'T') => "transaction clone for ",
            (b'G', b'I') => {
                let module = self.module_name()?;
                return self.nodes.add(Node::Special("initializer for module ", module));
            }
            _ => return None,
        };
        let of = match (first, second) {
            (b'T', b'V' | b'T' | b'I' | b'S' | b'F' | b'J') => self.type_()?,
            (b'T', b'h' | b'v' | b'c') | (b'G', b'A' | b'T') => self.encoding(false)?,
            (b'T', b'A') => self.template_argument()?,
            _ => self.name()?,
        };
        self.nodes.add(Node::Special(words, of))
    }

    fn construction_table(&mut self) -> Option<NodeId> {
        let derived = self.type_()?;
        self.number()?;
        self.expect(b'_')?;
        let base = self.type_()?;
        self.tree(Kind::ConstructionTable, base, derived)
    }

    fn call_offset(&mut self, sort: u8) -> Option<()> {
        match sort {
            b'h' => {
                self.signed_number()?;
            }
            b'v' => {
                self.signed_number()?;
                self.expect(b'_')?;
                self.signed_number()?;
            }
            _ => return None,
        }
        self.expect(b'_')
    }

    // What all readers are made of.

    /// Reads something that may hold its like, up to a bound.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MOST_NESTED {
            return None;
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// The next byte; 0: the name ends.
    pub(super) fn peek(&self) -> u8 {
        self.ahead(0)
    }

    /// The byte so far behind the next.
    pub(super) fn ahead(&self, bytes: usize) -> u8 {
        self.text.as_bytes().get(self.at.saturating_add(bytes)).copied().unwrap_or(0)
    }

    pub(super) fn is_next(&self, text: &str) -> bool {
        self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    /// Passes over a byte if it is that one.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_there = self.at < self.text.len() && self.peek() == byte;
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    pub(super) fn text(&mut self, bytes: usize) -> Option<&'m str> {
        let end = self.at.checked_add(bytes)?;
        let text = self.text.get(self.at..end)?;
        self.at = end;
        Some(text)
    }

    pub(super) fn text_before(&mut self, byte: u8) -> Option<&'m str> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.text(memchr::memchr(byte, rest)?)
    }

    /// Digits; none are 0, as a name may leave them out.
    pub(super) fn number(&mut self) -> Option<usize> {
        let mut number = 0_usize;
        while self.peek().is_ascii_digit() {
            number = number.checked_mul(10)?.checked_add(usize::from(self.peek() - b'0'))?;
            self.at += 1;
        }
        Some(number).filter(|number| *number <= 0x7fff_ffff)
    }

    fn signed_number(&mut self) -> Option<()> {
        self.take(b'n');
        self.number().map(|_| ())
    }

    /// `_` is 0, `0_` is 1.
    pub(super) fn compact_number(&mut self) -> Option<usize> {
        let number = match self.peek() {
            b'_' => 0,
            b'0'..=b'9' => self.number()? + 1,
            _ => return None,
        };
        self.expect(b'_')?;
        Some(number)
    }

    pub(super) fn tree(&mut self, kind: Kind, left: NodeId, right: NodeId) -> Option<NodeId> {
        self.nodes.add(Node::Tree(kind, Some(left), Some(right)))
    }

    pub(super) fn wrap(&mut self, kind: Kind, left: NodeId) -> Option<NodeId> {
        self.nodes.add(Node::Tree(kind, Some(left), None))
    }

    /// Links of a list; one without items has a link without an item.
    pub(super) fn list(&mut self, kind: Kind, items: &[NodeId]) -> Option<NodeId> {
        let Some((last, before)) = items.split_last() else {
            return self.nodes.add(Node::Tree(kind, None, None));
        };
        let mut list = self.wrap(kind, *last)?;
        for item in before.iter().rev() {
            list = self.tree(kind, *item, list)?;
        }
        Some(list)
    }

    pub(super) fn remember(&mut self, node: NodeId) {
        self.substitutions.push(node);
    }

    pub(super) fn remembered(&self, number: usize) -> Option<NodeId> {
        self.substitutions.get(number).copied()
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { at: self.at, substitutions: self.substitutions.len() }
    }

    pub(super) fn back_to(&mut self, checkpoint: Checkpoint) {
        self.at = checkpoint.at;
        self.substitutions.truncate(checkpoint.substitutions);
    }
}
