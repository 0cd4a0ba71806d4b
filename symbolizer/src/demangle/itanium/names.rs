//! Reads names of functions, classes and what is in them.

use super::node::{Kind, Node, NodeId};
use super::operators::Operator;
use super::parser::Parser;

/// A name that the ABI abbreviates.
struct Abbreviation {
    letter: u8,
    name: &'static str,
    /// In full, as what names its constructor has it.
    full: &'static str,
    /// What its constructor is called.
    class: Option<&'static str>,
}

const fn abbreviation(
    letter: u8,
    name: &'static str,
    full: &'static str,
    class: Option<&'static str>,
) -> Abbreviation {
    Abbreviation { letter, name, full, class }
}

static ABBREVIATIONS: [Abbreviation; 7] = [
    abbreviation(b't', "std", "std", None),
    abbreviation(b'a', "std::allocator", "std::allocator", Some("allocator")),
    abbreviation(b'b', "std::basic_string", "std::basic_string", Some("basic_string")),
    abbreviation(
        b's',
        "std::string",
        "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
        Some("basic_string"),
    ),
    abbreviation(
        b'i',
        "std::istream",
        "std::basic_istream<char, std::char_traits<char> >",
        Some("basic_istream"),
    ),
    abbreviation(
        b'o',
        "std::ostream",
        "std::basic_ostream<char, std::char_traits<char> >",
        Some("basic_ostream"),
    ),
    abbreviation(
        b'd',
        "std::iostream",
        "std::basic_iostream<char, std::char_traits<char> >",
        Some("basic_iostream"),
    ),
];

impl<'m> Parser<'m> {
    pub(super) fn name(&mut self) -> Option<NodeId> {
        self.deeper(|parser| match parser.peek() {
            b'N' => parser.nested_name(),
            b'Z' => parser.local_name(),
            b'U' => parser.unqualified_name(None),
            b'S' => {
                let is_substitution = parser.ahead(1) != b't';
                let name = match is_substitution {
                    true => parser.substitution(false)?,
                    false => {
                        parser.skip(2);
                        let std = parser.nodes.add(Node::Text("std"))?;
                        parser.unqualified_name(Some(std))?
                    }
                };
                if parser.peek() != b'I' {
                    return Some(name);
                }
                if !is_substitution {
                    parser.remember(name);
                }
                parser.with_arguments(name)
            }
            _ => {
                let name = parser.unqualified_name(None)?;
                if parser.peek() != b'I' {
                    return Some(name);
                }
                parser.remember(name);
                parser.with_arguments(name)
            }
        })
    }

    pub(super) fn with_arguments(&mut self, name: NodeId) -> Option<NodeId> {
        let arguments = self.template_arguments()?;
        self.tree(Kind::Template, name, arguments)
    }

    fn nested_name(&mut self) -> Option<NodeId> {
        self.expect(b'N')?;
        let qualifiers = self.qualifiers(true)?;
        let reference = self.reference_qualifier();
        let mut name = self.prefix(true)?;
        for qualifier in qualifiers.into_iter().rev() {
            name = self.qualified(qualifier, name)?;
        }
        if let Some(reference) = reference {
            name = self.wrap(reference, name)?;
        }
        self.expect(b'E')?;
        Some(name)
    }

    /// `A::B<C>::D`, the last being the name. `is_new`: what stands before it
    /// can be referred to later.
    pub(super) fn prefix(&mut self, is_new: bool) -> Option<NodeId> {
        let mut name = None;
        loop {
            if self.peek() == b'E' {
                return name;
            }
            // A member whose initializer the lambda that follows is in.
            self.take(b'M');
            let first = self.peek();
            let whole = match first {
                b'I' => self.with_arguments(name?)?,
                b'D' if matches!(self.ahead(1), b'T' | b't') => {
                    let scope = self.type_()?;
                    self.within(name, scope)?
                }
                b'T' => {
                    let scope = self.template_parameter()?;
                    self.within(name, scope)?
                }
                b'S' => {
                    let scope = self.substitution(true)?;
                    match (self.is_module(scope), name) {
                        (true, _) => {
                            let inner = self.name_of_module(None, Some(scope))?;
                            self.within(name, inner)?
                        }
                        // What can be referred to is whole.
                        (false, Some(_)) => return None,
                        (false, None) => scope,
                    }
                }
                _ => self.unqualified_name(name)?,
            };
            name = Some(whole);
            if is_new && first != b'S' && self.peek() != b'E' {
                self.remember(whole);
            }
        }
    }

    fn within(&mut self, scope: Option<NodeId>, name: NodeId) -> Option<NodeId> {
        match scope {
            Some(scope) => self.tree(Kind::Qualified, scope, name),
            None => Some(name),
        }
    }

    pub(super) fn unqualified_name(&mut self, scope: Option<NodeId>) -> Option<NodeId> {
        self.name_of_module(scope, None)
    }

    fn name_of_module(&mut self, scope: Option<NodeId>, module: Option<NodeId>) -> Option<NodeId> {
        let module = match self.peek() {
            b'W' => Some(self.module_words(module)?),
            _ => module,
        };
        // What only its file sees.
        let is_internal = self.peek() == b'L' && self.ahead(1).is_ascii_digit();
        self.skip(usize::from(is_internal));
        let mut name = match (self.peek(), self.ahead(1)) {
            (b'0'..=b'9', _) => self.source_name()?,
            (b'a'..=b'z', _) => {
                if self.is_next("on") {
                    self.skip(2);
                }
                let was = std::mem::replace(&mut self.is_expression, false);
                let operator = self.operator_name();
                self.is_expression = was;
                let operator = operator?;
                match self.nodes.is_operator(operator, "li") {
                    true => {
                        let suffix = self.source_name()?;
                        self.tree(Kind::Unary, operator, suffix)?
                    }
                    false => operator,
                }
            }
            (b'D', b'C') => self.structured_binding()?,
            (b'C' | b'D', _) => self.constructor()?,
            (b'U', b'l') => self.lambda()?,
            (b'U', b't') => self.unnamed_type()?,
            _ => return None,
        };
        if let Some(module) = module {
            name = self.tree(Kind::OfModule, name, module)?;
        }
        if self.peek() == b'B' {
            name = self.tags(name)?;
        }
        if is_internal {
            self.discriminator()?;
        }
        self.within(scope, name)
    }

    fn is_module(&self, node: NodeId) -> bool {
        matches!(self.nodes.kind(node), Some(Kind::Module | Kind::ModulePartition))
    }

    /// `W3foo3bar`.
    pub(super) fn module_name(&mut self) -> Option<NodeId> {
        let first = match self.peek() {
            b'S' => Some(self.substitution(false)?).filter(|name| self.is_module(*name)),
            _ => None,
        };
        match self.peek() {
            b'W' => self.module_words(first),
            _ => first,
        }
    }

    fn module_words(&mut self, mut module: Option<NodeId>) -> Option<NodeId> {
        while self.take(b'W') {
            let kind = match self.take(b'P') {
                true => Kind::ModulePartition,
                false => Kind::Module,
            };
            let word = self.source_name()?;
            let whole = self.nodes.add(Node::Tree(kind, module, Some(word)))?;
            self.remember(whole);
            module = Some(whole);
        }
        module
    }

    /// `DC1a1bE`.
    fn structured_binding(&mut self) -> Option<NodeId> {
        self.skip(2);
        let mut names = Vec::new();
        while !self.take(b'E') {
            names.push(self.source_name()?);
        }
        (!names.is_empty()).then_some(())?;
        let names = self.list(Kind::List, &names)?;
        self.wrap(Kind::Binding, names)
    }

    fn tags(&mut self, mut name: NodeId) -> Option<NodeId> {
        let class = self.last_name;
        while self.take(b'B') {
            let tag = self.source_name()?;
            name = self.tree(Kind::Tagged, name, tag)?;
        }
        self.last_name = class;
        Some(name)
    }

    pub(super) fn source_name(&mut self) -> Option<NodeId> {
        let length = self.number().filter(|length| *length > 0)?;
        let text = self.text(length)?;
        // gcc's names of namespaces without one.
        let is_anonymous = text
            .strip_prefix("_GLOBAL_")
            .is_some_and(|rest| matches!(rest.as_bytes(), [b'.' | b'_' | b'$', b'N', ..]));
        let text = if is_anonymous { "(anonymous namespace)" } else { text };
        let name = self.nodes.add(Node::Text(text))?;
        self.last_name = Some(name);
        Some(name)
    }

    pub(super) fn operator_name(&mut self) -> Option<NodeId> {
        let first = self.peek();
        if first == b'v' && self.ahead(1).is_ascii_digit() {
            let operands = self.ahead(1) - b'0';
            self.skip(2);
            let name = self.source_name()?;
            return self.nodes.add(Node::VendorOperator(operands, name));
        }
        let code = self.text(2)?;
        if code == "cv" {
            let was = self.is_conversion;
            self.is_conversion = !self.is_expression;
            let kind = if self.is_conversion { Kind::Conversion } else { Kind::Cast };
            let to = self.type_();
            self.is_conversion = was;
            return self.wrap(kind, to?);
        }
        let operator = Operator::of(code)?;
        self.nodes.add(Node::Operator(operator))
    }

    fn constructor(&mut self) -> Option<NodeId> {
        let mut class = self.last_name?;
        let kind = match self.next()? {
            b'C' => {
                let is_inheriting = self.take(b'I');
                matches!(self.next()?, b'1'..=b'5').then_some(())?;
                if is_inheriting {
                    // It is called as that of the base.
                    self.type_()?;
                    class = self.last_name?;
                }
                Kind::Constructor
            }
            _ => {
                matches!(self.next()?, b'0' | b'1' | b'2' | b'4' | b'5').then_some(())?;
                Kind::Destructor
            }
        };
        self.wrap(kind, class)
    }

    fn local_name(&mut self) -> Option<NodeId> {
        self.expect(b'Z')?;
        let function = self.encoding(false)?;
        self.expect(b'E')?;
        if let Some((_, Some(of))) = self.nodes.parts(function, Kind::Typed) {
            self.drop_return_type(of);
        }
        if self.take(b's') {
            self.discriminator()?;
            let literal = self.nodes.add(Node::Text("string literal"))?;
            return self.tree(Kind::Local, function, literal);
        }
        let argument = match self.take(b'd') {
            true => Some(self.compact_number()?),
            false => None,
        };
        let mut name = self.name()?;
        if !matches!(self.nodes.get(name), Node::Lambda(..) | Node::Unnamed(..)) {
            self.discriminator()?;
        }
        if let Some(argument) = argument {
            name = self.nodes.add(Node::DefaultArgument(name, argument))?;
        }
        self.tree(Kind::Local, function, name)
    }

    /// Passes over what tells namesakes within one function apart.
    fn discriminator(&mut self) -> Option<()> {
        if !self.take(b'_') {
            return Some(());
        }
        let is_long = self.take(b'_');
        let number = self.number()?;
        match is_long && number >= 10 {
            true => self.expect(b'_'),
            false => Some(()),
        }
    }

    fn lambda(&mut self) -> Option<NodeId> {
        self.skip(2);
        let parameters = self.parameters()?;
        self.expect(b'E')?;
        let number = self.compact_number()?;
        self.nodes.add(Node::Lambda(parameters, number))
    }

    fn unnamed_type(&mut self) -> Option<NodeId> {
        self.skip(2);
        let number = self.compact_number()?;
        let name = self.nodes.add(Node::Unnamed(number))?;
        self.remember(name);
        Some(name)
    }

    /// `is_prefix`: of a nested name.
    pub(super) fn substitution(&mut self, is_prefix: bool) -> Option<NodeId> {
        self.expect(b'S')?;
        let first = self.next()?;
        if first == b'_' {
            return self.remembered(0);
        }
        if first.is_ascii_digit() || first.is_ascii_uppercase() {
            let mut number = 0_usize;
            let mut digit = first;
            loop {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'A'..=b'Z' => digit - b'A' + 10,
                    b'_' => break,
                    _ => return None,
                };
                number = number.checked_mul(36)?.checked_add(usize::from(value))?;
                digit = self.next()?;
            }
            return self.remembered(number.checked_add(1)?);
        }
        let known = ABBREVIATIONS.iter().find(|known| known.letter == first)?;
        if let Some(class) = known.class {
            self.last_name = Some(self.nodes.add(Node::Standard(class))?);
        }
        let is_full = is_prefix && matches!(self.peek(), b'C' | b'D');
        let text = if is_full { known.full } else { known.name };
        let name = self.nodes.add(Node::Standard(text))?;
        if self.peek() != b'B' {
            return Some(name);
        }
        let tagged = self.tags(name)?;
        self.remember(tagged);
        Some(tagged)
    }
}
