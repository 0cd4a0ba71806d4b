//! Writes what stands around a type: qualifiers, pointers, parameters, extents.

use super::node::{Kind, Node, NodeId};
use super::printer::{Modifier, Printer};

impl Printer<'_, '_> {
    /// Lets something wait; gives its place.
    fn wait(&mut self, what: NodeId) -> usize {
        let (templates, next) = (self.templates, self.modifiers);
        self.all_modifiers.push(Modifier { what, is_written: false, templates, next });
        let place = self.all_modifiers.len() - 1;
        self.modifiers = Some(place);
        place
    }

    fn is_written(&self, modifier: usize) -> bool {
        self.all_modifiers[modifier].is_written
    }

    pub(super) fn modified(&mut self, node: NodeId, of: NodeId) -> Option<()> {
        let modifiers = self.modifiers;
        let own = self.wait(node);
        self.print(of)?;
        if !self.is_written(own) {
            self.modifier(node)?;
        }
        self.modifiers = modifiers;
        Some(())
    }

    /// Whether the same qualifier of the same type waits already: an array's
    /// is its elements'.
    pub(super) fn is_waiting(&self, kind: Kind) -> bool {
        let mut next = self.modifiers;
        while let Some(modifier) = next.map(|place| self.all_modifiers[place]) {
            if !modifier.is_written {
                match self.nodes.kind(modifier.what) {
                    Some(waiting) if waiting == kind => return true,
                    Some(waiting) if waiting.is_type_qualifier() => {}
                    _ => return false,
                }
            }
            next = modifier.next;
        }
        false
    }

    /// A function: its name waits until its type is written around it.
    pub(super) fn typed(&mut self, name: Option<NodeId>, of: Option<NodeId>) -> Option<()> {
        let modifiers = self.modifiers.take();
        let mut waiting = Vec::new();
        let mut name = name?;
        loop {
            waiting.push(self.wait(name));
            match self.nodes.get(name) {
                Node::Tree(kind, inner, _) if kind.is_of_function() => name = inner?,
                _ => break,
            }
        }
        if let Some((_, inner)) = self.nodes.parts(name, Kind::Local) {
            // Qualifiers within are the function's.
            name = inner?;
            if let Node::DefaultArgument(of, _) = self.nodes.get(name) {
                name = of;
            }
            while let Node::Tree(kind, inner, _) = self.nodes.get(name)
                && kind.is_of_function()
            {
                let &last = waiting.last()?;
                let local = std::mem::replace(&mut self.all_modifiers[last].what, name);
                waiting.push(self.wait(local));
                name = inner?;
            }
        }
        let templates = self.templates;
        if self.nodes.kind(name) == Some(Kind::Template) {
            self.enter(name);
        }
        self.print_any(of)?;
        self.templates = templates;
        for place in waiting.into_iter().rev() {
            if !self.is_written(place) {
                self.push(" ")?;
                self.modifier(self.all_modifiers[place].what)?;
            }
        }
        self.modifiers = modifiers;
        Some(())
    }

    /// A function's type: what it returns stands around the rest.
    pub(super) fn function(&mut self, node: NodeId, returns: Option<NodeId>) -> Option<()> {
        if let Some(returns) = returns {
            let modifiers = self.modifiers;
            let own = self.wait(node);
            self.print(returns)?;
            self.modifiers = modifiers;
            if self.is_written(own) {
                return Some(());
            }
            self.push(" ")?;
        }
        self.function_after(node, self.modifiers)
    }

    fn function_after(&mut self, node: NodeId, before: Option<usize>) -> Option<()> {
        let (mut needs_parentheses, mut needs_space) = (false, false);
        let mut next = before;
        while let Some(modifier) = next.map(|place| self.all_modifiers[place]) {
            if modifier.is_written || needs_parentheses {
                break;
            }
            match self.nodes.kind(modifier.what) {
                Some(Kind::Pointer | Kind::Reference | Kind::RvalueReference) => {
                    needs_parentheses = true;
                }
                Some(
                    Kind::Const
                    | Kind::Volatile
                    | Kind::Restrict
                    | Kind::VendorQualifier
                    | Kind::Complex
                    | Kind::Imaginary
                    | Kind::MemberPointer,
                ) => {
                    (needs_parentheses, needs_space) = (true, true);
                }
                _ => {}
            }
            next = modifier.next;
        }
        if needs_parentheses {
            needs_space |= !matches!(self.last, b'(' | b'*');
            if needs_space && self.last != b' ' {
                self.push(" ")?;
            }
            self.push("(")?;
        }
        let modifiers = self.modifiers.take();
        self.waiting(before, false)?;
        self.push(if needs_parentheses { ")(" } else { "(" })?;
        if let Some(parameters) = self.nodes.right(node) {
            self.print(parameters)?;
        }
        self.push(")")?;
        self.waiting(before, true)?;
        self.modifiers = modifiers;
        Some(())
    }

    /// An array: its extent stands behind what modifies it, and qualifiers of
    /// it are its elements'.
    pub(super) fn array(&mut self, node: NodeId, of: Option<NodeId>) -> Option<()> {
        let modifiers = self.modifiers;
        let own = self.wait(node);
        let mut copied = Vec::new();
        let mut next = modifiers;
        while let Some(place) = next {
            let modifier = self.all_modifiers[place];
            if !self.nodes.kind(modifier.what).is_some_and(Kind::is_type_qualifier) {
                break;
            }
            if !modifier.is_written {
                self.all_modifiers[place].is_written = true;
                self.all_modifiers.push(Modifier { next: self.modifiers, ..modifier });
                let copy = self.all_modifiers.len() - 1;
                self.modifiers = Some(copy);
                copied.push(copy);
            }
            next = modifier.next;
        }
        self.print_any(of)?;
        self.modifiers = modifiers;
        if self.is_written(own) {
            return Some(());
        }
        for copy in copied.into_iter().rev() {
            self.modifier(self.all_modifiers[copy].what)?;
        }
        self.array_after(node, modifiers)
    }

    fn array_after(&mut self, node: NodeId, before: Option<usize>) -> Option<()> {
        let mut needs_space = true;
        if before.is_some() {
            let mut needs_parentheses = false;
            let mut next = before;
            while let Some(modifier) = next.map(|place| self.all_modifiers[place]) {
                if !modifier.is_written {
                    let is_array = self.nodes.kind(modifier.what) == Some(Kind::Array);
                    (needs_space, needs_parentheses) = (!is_array, !is_array);
                    break;
                }
                next = modifier.next;
            }
            if needs_parentheses {
                self.push(" (")?;
            }
            self.waiting(before, false)?;
            if needs_parentheses {
                self.push(")")?;
            }
        }
        self.push(if needs_space { " [" } else { "[" })?;
        if let Some(extent) = self.nodes.left(node) {
            self.print(extent)?;
        }
        self.push("]")
    }

    /// Writes what waits. `behind`: also what stands behind parameters.
    fn waiting(&mut self, from: Option<usize>, behind: bool) -> Option<()> {
        let mut next = from;
        while let Some(place) = next {
            let modifier = self.all_modifiers[place];
            next = modifier.next;
            let kind = self.nodes.kind(modifier.what);
            if modifier.is_written || (!behind && kind.is_some_and(Kind::is_of_function)) {
                continue;
            }
            self.all_modifiers[place].is_written = true;
            let templates = std::mem::replace(&mut self.templates, modifier.templates);
            match self.nodes.get(modifier.what) {
                // These write the rest of the list themselves.
                Node::Tree(Kind::Function, ..) => {
                    self.function_after(modifier.what, next)?;
                    next = None;
                }
                Node::Tree(Kind::Array, ..) => {
                    self.array_after(modifier.what, next)?;
                    next = None;
                }
                Node::Tree(Kind::Local, function, inner) => {
                    // The function around sees nothing of what waits.
                    let modifiers = self.modifiers.take();
                    self.print_any(function)?;
                    self.modifiers = modifiers;
                    self.push("::")?;
                    let mut inner = inner?;
                    if let Node::DefaultArgument(of, number) = self.nodes.get(inner) {
                        self.default_argument(number)?;
                        inner = of;
                    }
                    self.print(self.without_function_qualifiers(inner)?)?;
                    next = None;
                }
                _ => self.modifier(modifier.what)?,
            }
            self.templates = templates;
        }
        Some(())
    }

    fn modifier(&mut self, what: NodeId) -> Option<()> {
        let Node::Tree(kind, left, right) = self.nodes.get(what) else { return self.print(what) };
        match kind {
            Kind::Restrict | Kind::RestrictThis => self.push(" restrict"),
            Kind::Volatile | Kind::VolatileThis => self.push(" volatile"),
            Kind::Const | Kind::ConstThis => self.push(" const"),
            Kind::TransactionSafe => self.push(" transaction_safe"),
            Kind::Noexcept | Kind::Throw => {
                self.push(if kind == Kind::Throw { " throw" } else { " noexcept" })?;
                let Some(more) = right else { return Some(()) };
                self.push("(")?;
                self.print(more)?;
                self.push(")")
            }
            Kind::VendorQualifier => {
                self.push(" ")?;
                self.print_any(right)
            }
            Kind::Pointer => self.push("*"),
            Kind::Reference => self.push("&"),
            Kind::RvalueReference => self.push("&&"),
            Kind::ReferenceThis => self.push(" &"),
            Kind::RvalueReferenceThis => self.push(" &&"),
            Kind::Complex => self.push(" _Complex"),
            Kind::Imaginary => self.push(" _Imaginary"),
            Kind::MemberPointer => {
                if self.last != b'(' {
                    self.push(" ")?;
                }
                self.print_any(left)?;
                self.push("::*")
            }
            Kind::Typed => self.print_any(left),
            Kind::Vector => {
                self.push(" __vector(")?;
                self.print_any(left)?;
                self.push(")")
            }
            _ => self.print(what),
        }
    }
}
