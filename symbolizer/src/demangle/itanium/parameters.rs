//! Parameters of templates: what they stand for in the templates around.

use super::node::{Kind, Node, NodeId};
use super::printer::{Printer, TemplateScope};

impl Printer<'_, '_> {
    /// Looks parameters up in a template from now on.
    pub(super) fn enter(&mut self, template: NodeId) {
        if let Some(arguments) = self.nodes.right(template) {
            self.all_templates.push(TemplateScope { arguments, outer: self.templates });
            self.templates = Some(self.all_templates.len() - 1);
        }
    }

    pub(super) fn template_parameter(&mut self, number: usize) -> Option<()> {
        if self.lambdas > 0 {
            return self.push(&format!("auto:{}", number + 1));
        }
        let argument = self.argument(number)?;
        // The argument belongs to the template's surroundings.
        let templates = self.templates;
        self.templates = self.all_templates.get(templates?)?.outer;
        self.print(argument)?;
        self.templates = templates;
        Some(())
    }

    /// What a parameter stands for; of a pack the element in turn.
    fn argument(&self, number: usize) -> Option<NodeId> {
        let argument = self.argument_or_pack(number)?;
        match self.nodes.kind(argument) {
            Some(Kind::TemplateArguments) => match self.element {
                Some(element) => self.nth(argument, element),
                None => Some(argument),
            },
            _ => Some(argument),
        }
    }

    fn argument_or_pack(&self, number: usize) -> Option<NodeId> {
        self.nth(self.all_templates.get(self.templates?)?.arguments, number)
    }

    fn nth(&self, list: NodeId, number: usize) -> Option<NodeId> {
        let mut link = list;
        for _ in 0..number {
            link = self.nodes.parts(link, Kind::TemplateArguments)?.1?;
        }
        self.nodes.parts(link, Kind::TemplateArguments)?.0
    }

    pub(super) fn count(&self, pack: NodeId) -> usize {
        let mut count = 0;
        let mut link = Some(pack);
        while let Some((Some(_), rest)) =
            link.and_then(|link| self.nodes.parts(link, Kind::TemplateArguments))
        {
            count += 1;
            link = rest;
        }
        count
    }

    /// The pack that a pattern expands. Some(None): there is none.
    pub(super) fn pack(&mut self, pattern: NodeId) -> Option<Option<NodeId>> {
        let mut waiting = vec![pattern];
        while let Some(part) = waiting.pop() {
            self.step()?;
            match self.nodes.get(part) {
                Node::TemplateParameter(number) => {
                    let argument = self.argument_or_pack(number)?;
                    if self.nodes.kind(argument) == Some(Kind::TemplateArguments) {
                        return Some(Some(argument));
                    }
                }
                Node::VendorOperator(_, name) | Node::Special(_, name) => waiting.push(name),
                Node::Tree(Kind::Expansion | Kind::Tagged, ..) => {}
                // The left part comes first.
                Node::Tree(_, left, right) => waiting.extend([right, left].into_iter().flatten()),
                _ => {}
            }
        }
        Some(None)
    }

    pub(super) fn expansion(&mut self, pattern: NodeId) -> Option<()> {
        let pack = match self.lambdas {
            0 => self.pack(pattern)?,
            _ => None,
        };
        let Some(pack) = pack else {
            // Of parameters alone.
            self.operand(pattern)?;
            return self.push("...");
        };
        for element in 0..self.count(pack) {
            if element > 0 {
                self.push(", ")?;
            }
            self.element = Some(element);
            self.print(pattern)?;
        }
        Some(())
    }

    /// `T&&` with `T = A&` is `A&`.
    pub(super) fn reference(&mut self, node: NodeId, kind: Kind, of: NodeId) -> Option<()> {
        let templates = self.templates;
        let mut target = of;
        if let Node::TemplateParameter(number) = self.nodes.get(of)
            && self.lambdas == 0
        {
            // A type that is referred to again means what it meant where it was
            // written first.
            match self.first_scopes.get(&of) {
                None => {
                    self.first_scopes.insert(of, self.templates);
                }
                Some(first) => {
                    let around = &self.open[..self.open.len().saturating_sub(1)];
                    let is_within = around.iter().any(|open| *open == of || *open == node);
                    if !is_within {
                        self.templates = *first;
                    }
                }
            }
            target = self.argument(number)?;
        }
        let (what, inner) = match self.nodes.get(target) {
            Node::Tree(Kind::Reference, inner, _) => (target, inner?),
            Node::Tree(Kind::RvalueReference, inner, _) if kind == Kind::RvalueReference => {
                (target, inner?)
            }
            Node::Tree(Kind::RvalueReference, inner, _) => (node, inner?),
            _ => (node, of),
        };
        self.modified(what, inner)?;
        self.templates = templates;
        Some(())
    }
}
