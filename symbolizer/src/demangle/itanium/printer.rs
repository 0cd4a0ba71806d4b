//! Writes a name as binutils writes it.
//!
//! Declarators of C stand around what they declare: `int (*f)(char)`. So what
//! modifies a type, and the name of a function, waits in a list until the type
//! that it belongs to is written (`declarators.rs`). Parameters of templates are
//! looked up in the templates around.

use super::node::{Kind, Node, NodeId, Nodes};
use crate::demangle::LONGEST;
use rustc_hash::FxHashMap;

const MOST_NESTED: usize = 320;
/// Parts that are written: packs without elements take none of the length.
const MOST_STEPS: usize = 1 << 15;

/// A template whose arguments parameters stand for, and those around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TemplateScope {
    pub(super) arguments: NodeId,
    pub(super) outer: Option<usize>,
}

/// Something that waits to be written beside the type it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modifier {
    pub(super) what: NodeId,
    pub(super) is_written: bool,
    pub(super) templates: Option<usize>,
    pub(super) next: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Printer<'n, 'm> {
    pub(super) nodes: &'n Nodes<'m>,
    out: String,
    /// The last byte that was written, even if it was taken back.
    pub(super) last: u8,
    pub(super) all_modifiers: Vec<Modifier>,
    /// Those that wait, the innermost.
    pub(super) modifiers: Option<usize>,
    pub(super) all_templates: Vec<TemplateScope>,
    /// The innermost template around.
    pub(super) templates: Option<usize>,
    /// The template that is being named: a conversion operator's type has its
    /// arguments.
    named: Option<NodeId>,
    /// In which scope a referred-to parameter was written first.
    pub(super) first_scopes: FxHashMap<NodeId, Option<usize>>,
    /// Which element of packs is written; None: all.
    pub(super) element: Option<usize>,
    /// Lambdas around whose parameters are written.
    pub(super) lambdas: usize,
    /// What is being written, the innermost last.
    pub(super) open: Vec<NodeId>,
    steps: usize,
}

impl<'n, 'm> Printer<'n, 'm> {
    /// The text of a name. None: it cannot be written, or not within bounds.
    pub(super) fn text(nodes: &'n Nodes<'m>, name: NodeId) -> Option<String> {
        let mut printer = Printer {
            nodes,
            out: String::new(),
            last: 0,
            all_modifiers: Vec::new(),
            modifiers: None,
            all_templates: Vec::new(),
            templates: None,
            named: None,
            first_scopes: FxHashMap::default(),
            element: Some(0),
            lambdas: 0,
            open: Vec::new(),
            steps: 0,
        };
        printer.print(name)?;
        Some(printer.out)
    }

    pub(super) fn push(&mut self, text: &str) -> Option<()> {
        if self.out.len() + text.len() > LONGEST {
            return None;
        }
        self.out.push_str(text);
        self.last = text.bytes().last().unwrap_or(self.last);
        Some(())
    }

    pub(super) fn push_number(&mut self, number: usize) -> Option<()> {
        self.push(&number.to_string())
    }

    pub(super) fn step(&mut self) -> Option<()> {
        self.steps += 1;
        (self.steps <= MOST_STEPS).then_some(())
    }

    pub(super) fn print_any(&mut self, node: Option<NodeId>) -> Option<()> {
        self.print(node?)
    }

    pub(super) fn print(&mut self, node: NodeId) -> Option<()> {
        self.step()?;
        // What is in itself twice would never end.
        let is_within_itself = self.open.iter().filter(|open| **open == node).count() > 1;
        if is_within_itself || self.open.len() >= MOST_NESTED {
            return None;
        }
        self.open.push(node);
        let printed = self.node(node);
        self.open.pop();
        printed
    }

    fn node(&mut self, node: NodeId) -> Option<()> {
        match self.nodes.get(node) {
            Node::Text(text) => self.push(text),
            Node::Standard(text) => self.push(text),
            Node::Builtin(builtin) => self.push(builtin.name),
            Node::Float(16, "b") => self.push("std::bfloat16_t"),
            Node::Float(bits, behind) => self.push(&format!("_Float{bits}{behind}")),
            Node::Operator(operator) => {
                self.push("operator")?;
                if operator.name.starts_with(|first: char| first.is_ascii_lowercase()) {
                    self.push(" ")?;
                }
                self.push(operator.name.trim_end())
            }
            Node::VendorOperator(_, name) => {
                self.push("operator ")?;
                self.print(name)
            }
            Node::TemplateParameter(number) => self.template_parameter(number),
            Node::FunctionParameter(0) => self.push("this"),
            Node::FunctionParameter(number) => self.push(&format!("{{parm#{number}}}")),
            Node::Number(number) => self.push_number(number),
            Node::Lambda(parameters, number) => {
                self.push("{lambda(")?;
                self.lambdas += 1;
                self.print(parameters)?;
                self.lambdas -= 1;
                self.push(&format!(")#{}}}", number + 1))
            }
            Node::Unnamed(number) => self.push(&format!("{{unnamed type#{}}}", number + 1)),
            Node::DefaultArgument(of, number) => {
                self.default_argument(number)?;
                self.print(of)
            }
            Node::Special(words, of) => {
                self.push(words)?;
                self.print(of)
            }
            Node::Tree(kind, left, right) => self.tree(node, kind, left, right),
        }
    }

    pub(super) fn default_argument(&mut self, number: usize) -> Option<()> {
        self.push(&format!("{{default arg#{}}}::", number + 1))
    }

    fn tree(
        &mut self,
        node: NodeId,
        kind: Kind,
        left: Option<NodeId>,
        right: Option<NodeId>,
    ) -> Option<()> {
        match kind {
            Kind::Qualified | Kind::Local => {
                self.print_any(left)?;
                self.push("::")?;
                let mut inner = right?;
                if let Node::DefaultArgument(of, number) = self.nodes.get(inner) {
                    self.default_argument(number)?;
                    inner = of;
                }
                self.print(self.without_function_qualifiers(inner)?)
            }
            Kind::Typed => self.typed(left, right),
            Kind::Template => self.template(node, left, right),
            Kind::TemplateArguments | Kind::List => self.list(kind, left, right),
            Kind::Tagged => {
                self.print_any(left)?;
                self.push("[abi:")?;
                self.print_any(right)?;
                self.push("]")
            }
            Kind::Constructor | Kind::VendorType => self.print_any(left),
            Kind::Destructor => {
                self.push("~")?;
                self.print_any(left)
            }
            Kind::Clone => {
                self.print_any(left)?;
                self.push(" [clone ")?;
                self.print_any(right)?;
                self.push("]")
            }
            Kind::ConstructionTable => {
                self.push("construction vtable for ")?;
                self.print_any(left)?;
                self.push("-in-")?;
                self.print_any(right)
            }
            Kind::ReferenceTemporary => {
                self.push("reference temporary #")?;
                self.print_any(right)?;
                self.push(" for ")?;
                self.print_any(left)
            }
            Kind::OfModule => {
                self.print_any(left)?;
                self.push("@")?;
                self.print_any(right)
            }
            Kind::Module | Kind::ModulePartition => {
                if let Some(left) = left {
                    self.print(left)?;
                }
                match (kind, left) {
                    (Kind::ModulePartition, _) => self.push(":")?,
                    (_, Some(_)) => self.push(".")?,
                    _ => {}
                }
                self.print_any(right)
            }
            Kind::Binding => {
                self.push("[")?;
                self.print_any(left)?;
                self.push("]")
            }
            Kind::Function => self.function(node, left),
            Kind::Array => self.array(node, right),
            Kind::Reference | Kind::RvalueReference => self.reference(node, kind, left?),
            Kind::Const | Kind::Volatile | Kind::Restrict if self.is_waiting(kind) => {
                self.print_any(left)
            }
            Kind::MemberPointer | Kind::Vector => self.modified(node, right?),
            Kind::Conversion => {
                self.push("operator ")?;
                self.conversion(left?)
            }
            Kind::Cast => {
                self.push("operator ")?;
                self.print_any(left)
            }
            Kind::Literal | Kind::NegativeLiteral => self.literal(kind, left?, right?),
            Kind::Decltype => {
                self.push("decltype (")?;
                self.print_any(left)?;
                self.push(")")
            }
            Kind::Expansion => self.expansion(left?),
            Kind::Initializers => {
                if let Some(of) = left {
                    self.print(of)?;
                }
                self.push("{")?;
                self.print_any(right)?;
                self.push("}")
            }
            Kind::Nullary => self.operator(left?),
            Kind::Unary => self.unary(left?, right?),
            Kind::Binary => self.binary(left?, right?),
            Kind::Trinary => self.trinary(left?, right?),
            // Parts of other expressions.
            Kind::Operands | Kind::Rest => None,
            // Everything else modifies a type.
            _ => self.modified(node, left?),
        }
    }

    /// `const` of a member function, which stands behind its parameters.
    pub(super) fn without_function_qualifiers(&self, mut node: NodeId) -> Option<NodeId> {
        while let Node::Tree(kind, inner, _) = self.nodes.get(node)
            && kind.is_of_function()
        {
            node = inner?;
        }
        Some(node)
    }

    fn list(&mut self, kind: Kind, first: Option<NodeId>, rest: Option<NodeId>) -> Option<()> {
        let mut separators = Vec::new();
        let (mut item, mut next) = (first, rest);
        loop {
            if let Some(item) = item {
                self.print(item)?;
            }
            let Some(rest) = next else { break };
            self.push(", ")?;
            separators.push(self.out.len());
            (item, next) = self.nodes.parts(rest, kind)?;
        }
        // Behind packs without elements, which write nothing.
        while let Some(end) = separators.pop().filter(|end| self.out.len() == *end) {
            self.out.truncate(end - 2);
        }
        Some(())
    }

    fn template(
        &mut self,
        node: NodeId,
        name: Option<NodeId>,
        arguments: Option<NodeId>,
    ) -> Option<()> {
        let modifiers = self.modifiers.take();
        let named = self.named.replace(node);
        self.print_any(name)?;
        self.arguments(arguments)?;
        self.modifiers = modifiers;
        self.named = named;
        Some(())
    }

    fn arguments(&mut self, arguments: Option<NodeId>) -> Option<()> {
        if self.last == b'<' {
            self.push(" ")?;
        }
        self.push("<")?;
        self.print_any(arguments)?;
        // `>>` would be an operator.
        if self.last == b'>' {
            self.push(" ")?;
        }
        self.push(">")
    }

    /// A conversion operator: its type has the arguments of the template that
    /// it is itself.
    fn conversion(&mut self, to: NodeId) -> Option<()> {
        let templates = self.templates;
        if let Some(named) = self.named {
            self.enter(named);
        }
        let Some((name, arguments)) = self.nodes.parts(to, Kind::Template) else {
            self.print(to)?;
            self.templates = templates;
            return Some(());
        };
        self.print_any(name)?;
        self.templates = templates;
        self.arguments(arguments)
    }
}
