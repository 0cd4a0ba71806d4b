//! A mangled name as a tree.

use super::operators::Operator;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(u32);

/// A part of a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'m> {
    /// An identifier, or the digits of a literal.
    Text(&'m str),
    /// A name that the ABI abbreviates.
    Standard(&'static str),
    Builtin(&'static Builtin),
    /// `_Float32x`: bits, and what stands behind.
    Float(u32, &'static str),
    Operator(&'static Operator),
    /// An operator of a vendor: its operands and its name.
    VendorOperator(u8, NodeId),
    /// An argument of the template around, by number.
    TemplateParameter(usize),
    /// A parameter of the function around; 0 is `this`.
    FunctionParameter(usize),
    /// An extent of an array, or a number that tells namesakes apart.
    Number(usize),
    /// A lambda: its parameters, its number.
    Lambda(NodeId, usize),
    Unnamed(usize),
    /// What belongs to a parameter's default argument.
    DefaultArgument(NodeId, usize),
    /// Words before what they are about.
    Special(&'static str, NodeId),
    /// All others, of one or two parts.
    Tree(Kind, Option<NodeId>, Option<NodeId>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `left::right`.
    Qualified,
    /// The same, left being a function.
    Local,
    /// A function: its name and type.
    Typed,
    /// A name and its arguments.
    Template,
    /// A link of a list of template arguments.
    TemplateArguments,
    /// A link of any other list.
    List,
    /// A name and its ABI tag.
    Tagged,
    Constructor,
    Destructor,
    /// A function and its clone's suffix.
    Clone,
    /// The table of a base (left) while an object (right) is made.
    ConstructionTable,
    /// A name, and the number of its temporary.
    ReferenceTemporary,
    /// What a module has, and the module.
    OfModule,
    /// A module within another.
    Module,
    ModulePartition,
    /// `[left, ...]`.
    Binding,
    Pointer,
    Reference,
    RvalueReference,
    Const,
    Volatile,
    Restrict,
    Complex,
    Imaginary,
    VendorQualifier,
    VendorType,
    /// Of a member function, as all up to `Throw`.
    ConstThis,
    VolatileThis,
    RestrictThis,
    ReferenceThis,
    RvalueReferenceThis,
    TransactionSafe,
    Noexcept,
    Throw,
    /// What it returns, and its parameters.
    Function,
    /// Its extent, and of what.
    Array,
    /// Of which class, and to what.
    MemberPointer,
    /// Its extent, and of what.
    Vector,
    Conversion,
    Cast,
    Nullary,
    Unary,
    Binary,
    /// Both operands; of a unary operator: it stands behind.
    Operands,
    Trinary,
    /// The second and third operand.
    Rest,
    Literal,
    NegativeLiteral,
    Decltype,
    Expansion,
    /// `left{right}`.
    Initializers,
}

impl Kind {
    /// `const` and its like.
    pub(super) fn is_type_qualifier(self) -> bool {
        matches!(self, Kind::Const | Kind::Volatile | Kind::Restrict)
    }

    /// What stands behind a function's parameters.
    pub(super) fn is_of_function(self) -> bool {
        matches!(
            self,
            Kind::ConstThis
                | Kind::VolatileThis
                | Kind::RestrictThis
                | Kind::ReferenceThis
                | Kind::RvalueReferenceThis
                | Kind::TransactionSafe
                | Kind::Noexcept
                | Kind::Throw
        )
    }
}

#[derive(Debug, Default)]
pub(super) struct Nodes<'m> {
    nodes: Vec<Node<'m>>,
}

/// Nodes of one name: it has more only where parts are read again and again.
const MOST_NODES: usize = 1 << 16;

impl<'m> Nodes<'m> {
    pub(super) fn add(&mut self, node: Node<'m>) -> Option<NodeId> {
        if self.nodes.len() >= MOST_NODES {
            return None;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).ok()?);
        self.nodes.push(node);
        Some(id)
    }

    pub(super) fn get(&self, id: NodeId) -> Node<'m> {
        // Ids come from `add` alone.
        usize::try_from(id.0)
            .ok()
            .and_then(|at| self.nodes.get(at))
            .copied()
            .unwrap_or(Node::Standard(""))
    }

    pub(super) fn set(&mut self, id: NodeId, node: Node<'m>) {
        if let Some(kept) = usize::try_from(id.0).ok().and_then(|at| self.nodes.get_mut(at)) {
            *kept = node;
        }
    }

    pub(super) fn kind(&self, id: NodeId) -> Option<Kind> {
        match self.get(id) {
            Node::Tree(kind, ..) => Some(kind),
            _ => None,
        }
    }

    pub(super) fn parts(
        &self,
        id: NodeId,
        wanted: Kind,
    ) -> Option<(Option<NodeId>, Option<NodeId>)> {
        match self.get(id) {
            Node::Tree(kind, left, right) if kind == wanted => Some((left, right)),
            _ => None,
        }
    }

    pub(super) fn left(&self, id: NodeId) -> Option<NodeId> {
        match self.get(id) {
            Node::Tree(_, left, _) => left,
            _ => None,
        }
    }

    pub(super) fn right(&self, id: NodeId) -> Option<NodeId> {
        match self.get(id) {
            Node::Tree(_, _, right) => right,
            _ => None,
        }
    }

    pub(super) fn is_operator(&self, id: NodeId, code: &str) -> bool {
        matches!(self.get(id), Node::Operator(operator) if operator.code == code)
    }
}

#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) name: &'static str,
    pub(super) literal: LiteralForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiteralForm {
    /// `(type)1`.
    Cast,
    /// `1` and a suffix.
    Suffix(&'static str),
    /// `true`.
    Bool,
    /// `(double)[3ff0000000000000]`.
    Float,
}

use LiteralForm::{Bool, Cast, Float, Suffix};

const fn builtin(name: &'static str, literal: LiteralForm) -> Builtin {
    Builtin { name, literal }
}

static NUMBERS: [Option<Builtin>; 26] = [
    Some(builtin("signed char", Cast)),
    Some(builtin("bool", Bool)),
    Some(builtin("char", Cast)),
    Some(builtin("double", Float)),
    Some(builtin("long double", Float)),
    Some(builtin("float", Float)),
    Some(builtin("__float128", Float)),
    Some(builtin("unsigned char", Cast)),
    Some(builtin("int", Suffix(""))),
    Some(builtin("unsigned int", Suffix("u"))),
    None,
    Some(builtin("long", Suffix("l"))),
    Some(builtin("unsigned long", Suffix("ul"))),
    Some(builtin("__int128", Cast)),
    Some(builtin("unsigned __int128", Cast)),
    None,
    None,
    None,
    Some(builtin("short", Cast)),
    Some(builtin("unsigned short", Cast)),
    None,
    Some(builtin("void", Cast)),
    Some(builtin("wchar_t", Cast)),
    Some(builtin("long long", Suffix("ll"))),
    Some(builtin("unsigned long long", Suffix("ull"))),
    Some(builtin("...", Cast)),
];

/// Those whose code begins with `D`.
static OTHERS: [(u8, Builtin); 10] = [
    (b'a', builtin("auto", Cast)),
    (b'c', builtin("decltype(auto)", Cast)),
    (b'f', builtin("decimal32", Cast)),
    (b'd', builtin("decimal64", Cast)),
    (b'e', builtin("decimal128", Cast)),
    (b'h', builtin("half", Float)),
    (b'u', builtin("char8_t", Cast)),
    (b's', builtin("char16_t", Cast)),
    (b'i', builtin("char32_t", Cast)),
    (b'n', builtin("decltype(nullptr)", Cast)),
];

impl Builtin {
    pub(super) fn of(letter: u8) -> Option<&'static Builtin> {
        NUMBERS.get(usize::from(letter.checked_sub(b'a')?))?.as_ref()
    }

    /// By the letter behind `D`.
    pub(super) fn other(letter: u8) -> Option<&'static Builtin> {
        OTHERS.iter().find(|(code, _)| *code == letter).map(|(_, builtin)| builtin)
    }
}
