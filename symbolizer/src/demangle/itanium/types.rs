//! Reads types and the arguments of templates.

use super::node::{Builtin, Kind, Node, NodeId};
use super::parser::Parser;

/// A qualifier that was read: `noexcept` and `throw` say more.
pub(super) type Qualifier = (Kind, Option<NodeId>);

impl<'m> Parser<'m> {
    /// A type; most can be referred to later.
    pub(super) fn type_(&mut self) -> Option<NodeId> {
        self.deeper(Parser::any_type)
    }

    fn any_type(&mut self) -> Option<NodeId> {
        if self.is_qualifier() {
            return self.qualified_type();
        }
        let first = self.peek();
        let (node, is_new) = match first {
            b'u' => {
                self.skip(1);
                let name = self.source_name()?;
                let name = match self.peek() {
                    b'I' => self.with_arguments(name)?,
                    _ => name,
                };
                (self.wrap(Kind::VendorType, name)?, true)
            }
            b'a'..=b'z' => {
                let builtin = Builtin::of(first)?;
                self.skip(1);
                (self.nodes.add(Node::Builtin(builtin))?, false)
            }
            b'F' => (self.function_type()?, true),
            b'0'..=b'9' | b'N' | b'Z' | b'W' | b'L' => (self.name()?, true),
            b'A' => (self.array_type()?, true),
            b'M' => {
                self.skip(1);
                let class = self.type_()?;
                let member = self.type_()?;
                (self.tree(Kind::MemberPointer, class, member)?, true)
            }
            b'T' => (self.parameter_type()?, true),
            b'S' => match self.ahead(1) {
                b'0'..=b'9' | b'_' | b'A'..=b'Z' => {
                    let name = self.substitution(false)?;
                    match self.peek() {
                        b'I' => (self.with_arguments(name)?, true),
                        _ => (name, false),
                    }
                }
                _ => {
                    let name = self.name()?;
                    (name, !matches!(self.nodes.get(name), Node::Standard(_)))
                }
            },
            b'O' => (self.modified(Kind::RvalueReference)?, true),
            b'P' => (self.modified(Kind::Pointer)?, true),
            b'R' => (self.modified(Kind::Reference)?, true),
            b'C' => (self.modified(Kind::Complex)?, true),
            b'G' => (self.modified(Kind::Imaginary)?, true),
            b'U' => {
                self.skip(1);
                let mut name = self.source_name()?;
                if self.peek() == b'I' {
                    name = self.with_arguments(name)?;
                }
                let of = self.type_()?;
                (self.tree(Kind::VendorQualifier, of, name)?, true)
            }
            b'D' => self.later_type()?,
            _ => return None,
        };
        if is_new {
            self.remember(node);
        }
        Some(node)
    }

    fn modified(&mut self, kind: Kind) -> Option<NodeId> {
        self.skip(1);
        let of = self.type_()?;
        self.wrap(kind, of)
    }

    /// Those that begin with `D`, and whether they can be referred to.
    fn later_type(&mut self) -> Option<(NodeId, bool)> {
        self.skip(1);
        let letter = self.next()?;
        let node = match letter {
            b'T' | b't' => {
                let of = self.expression()?;
                self.expect(b'E')?;
                return Some((self.wrap(Kind::Decltype, of)?, true));
            }
            b'p' => {
                let pattern = self.type_()?;
                return Some((self.wrap(Kind::Expansion, pattern)?, true));
            }
            b'v' => return Some((self.vector_type()?, true)),
            b'F' => {
                let bits = u32::try_from(self.number()?).ok()?;
                let behind = match self.next()? {
                    b'_' => "",
                    b'x' => "x",
                    b'b' if bits == 16 => "b",
                    _ => return None,
                };
                Node::Float(bits, behind)
            }
            _ => Node::Builtin(Builtin::other(letter)?),
        };
        Some((self.nodes.add(node)?, false))
    }

    /// `Dv4_f`.
    fn vector_type(&mut self) -> Option<NodeId> {
        let extent = match self.take(b'_') {
            true => self.expression()?,
            false => {
                let extent = self.number()?;
                self.nodes.add(Node::Number(extent))?
            }
        };
        self.expect(b'_')?;
        let of = self.type_()?;
        self.tree(Kind::Vector, extent, of)
    }

    fn array_type(&mut self) -> Option<NodeId> {
        self.skip(1);
        let extent = match self.peek() {
            b'_' => None,
            b'0'..=b'9' => {
                let digits = self.text_before(b'_')?;
                digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
                Some(self.nodes.add(Node::Text(digits))?)
            }
            _ => Some(self.expression()?),
        };
        self.expect(b'_')?;
        let of = self.type_()?;
        self.nodes.add(Node::Tree(Kind::Array, extent, Some(of)))
    }

    /// A template's parameter, which may be a template itself.
    fn parameter_type(&mut self) -> Option<NodeId> {
        let parameter = self.template_parameter()?;
        if self.peek() != b'I' {
            return Some(parameter);
        }
        if !self.is_conversion {
            self.remember(parameter);
            return self.with_arguments(parameter);
        }
        // `operator T<A>()`, or the arguments of a template `operator T()`:
        // in the former others follow.
        let before = self.checkpoint();
        let arguments = self.template_arguments()?;
        if self.peek() == b'I' {
            self.remember(parameter);
            return self.tree(Kind::Template, parameter, arguments);
        }
        self.back_to(before);
        Some(parameter)
    }

    pub(super) fn template_parameter(&mut self) -> Option<NodeId> {
        self.expect(b'T')?;
        let number = self.compact_number()?;
        self.nodes.add(Node::TemplateParameter(number))
    }

    fn is_qualifier(&self) -> bool {
        match self.peek() {
            b'r' | b'V' | b'K' => true,
            b'D' => matches!(self.ahead(1), b'x' | b'o' | b'O' | b'w'),
            _ => false,
        }
    }

    /// `of_this`: of a member function.
    pub(super) fn qualifiers(&mut self, of_this: bool) -> Option<Vec<Qualifier>> {
        let mut found = Vec::new();
        while self.is_qualifier() {
            let (kind, this, more) = match self.next()? {
                b'r' => (Kind::Restrict, Kind::RestrictThis, None),
                b'V' => (Kind::Volatile, Kind::VolatileThis, None),
                b'K' => (Kind::Const, Kind::ConstThis, None),
                _ => match self.next()? {
                    b'x' => (Kind::TransactionSafe, Kind::TransactionSafe, None),
                    b'o' => (Kind::Noexcept, Kind::Noexcept, None),
                    b'O' => {
                        let when = self.expression()?;
                        self.expect(b'E')?;
                        (Kind::Noexcept, Kind::Noexcept, Some(when))
                    }
                    _ => {
                        let what = self.parameters()?;
                        self.expect(b'E')?;
                        (Kind::Throw, Kind::Throw, Some(what))
                    }
                },
            };
            found.push((kind, this, more));
        }
        // Those of a function type are its `this`'s, too.
        let of_this = of_this || self.peek() == b'F';
        let chosen = |(kind, this, more)| (if of_this { this } else { kind }, more);
        Some(found.into_iter().map(chosen).collect())
    }

    pub(super) fn qualified(&mut self, qualifier: Qualifier, of: NodeId) -> Option<NodeId> {
        self.nodes.add(Node::Tree(qualifier.0, Some(of), qualifier.1))
    }

    fn qualified_type(&mut self) -> Option<NodeId> {
        let qualifiers = self.qualifiers(false)?;
        let of = match self.peek() {
            // Without them it cannot be referred to.
            b'F' => self.function_type()?,
            _ => self.type_()?,
        };
        // `&` stands behind the qualifiers; of types, functions alone have it.
        let reference = match self.nodes.get(of) {
            Node::Tree(kind @ (Kind::ReferenceThis | Kind::RvalueReferenceThis), Some(of), _) => {
                matches!(self.nodes.kind(of), Some(Kind::Function)).then_some(())?;
                Some((kind, of))
            }
            _ => None,
        };
        let mut node = reference.map_or(of, |(_, function)| function);
        for qualifier in qualifiers.into_iter().rev() {
            node = self.qualified(qualifier, node)?;
        }
        if let Some((kind, _)) = reference {
            node = self.wrap(kind, node)?;
        }
        self.remember(node);
        Some(node)
    }

    /// `R` or `O` of a member function.
    pub(super) fn reference_qualifier(&mut self) -> Option<Kind> {
        let kind = match self.peek() {
            b'R' => Kind::ReferenceThis,
            b'O' => Kind::RvalueReferenceThis,
            _ => return None,
        };
        self.skip(1);
        Some(kind)
    }

    fn function_type(&mut self) -> Option<NodeId> {
        self.expect(b'F')?;
        // extern "C".
        self.take(b'Y');
        let mut function = self.bare_function_type(true)?;
        if let Some(reference) = self.reference_qualifier() {
            function = self.wrap(reference, function)?;
        }
        self.expect(b'E')?;
        Some(function)
    }

    /// Parameters, and before them what is returned.
    pub(super) fn bare_function_type(&mut self, returns: bool) -> Option<NodeId> {
        let returns = self.take(b'J') || returns;
        let returned = match returns {
            true => Some(self.type_()?),
            false => None,
        };
        let parameters = self.parameters()?;
        self.nodes.add(Node::Tree(Kind::Function, returned, Some(parameters)))
    }

    /// At least one; one that is `void` is none.
    pub(super) fn parameters(&mut self) -> Option<NodeId> {
        let mut parameters = Vec::new();
        loop {
            match self.peek() {
                0 | b'E' | b'.' => break,
                b'R' | b'O' if self.ahead(1) == b'E' => break,
                _ => parameters.push(self.type_()?),
            }
        }
        if parameters.is_empty() {
            return None;
        }
        if let [only] = parameters[..]
            && matches!(self.nodes.get(only), Node::Builtin(builtin) if builtin.name == "void")
        {
            parameters.clear();
        }
        self.list(Kind::List, &parameters)
    }

    pub(super) fn template_arguments(&mut self) -> Option<NodeId> {
        matches!(self.peek(), b'I' | b'J').then_some(())?;
        self.skip(1);
        self.arguments_to_end()
    }

    /// Those before `E`.
    pub(super) fn arguments_to_end(&mut self) -> Option<NodeId> {
        self.deeper(|parser| {
            // Constructors are called as the class, not as an argument.
            let class = parser.last_name;
            let mut arguments = Vec::new();
            while !parser.take(b'E') {
                arguments.push(parser.template_argument()?);
            }
            parser.last_name = class;
            parser.list(Kind::TemplateArguments, &arguments)
        })
    }

    pub(super) fn template_argument(&mut self) -> Option<NodeId> {
        match self.peek() {
            b'X' => {
                self.skip(1);
                let expression = self.expression()?;
                self.expect(b'E')?;
                Some(expression)
            }
            b'L' => self.literal(),
            b'I' | b'J' => self.template_arguments(),
            _ => self.type_(),
        }
    }
}
