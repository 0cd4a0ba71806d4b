//! Reads expressions: what arguments of templates, extents and `decltype`
//! are computed from.

use super::node::{Kind, Node, NodeId};
use super::parser::Parser;

impl<'m> Parser<'m> {
    pub(super) fn expression(&mut self) -> Option<NodeId> {
        let was = std::mem::replace(&mut self.is_expression, true);
        let expression = self.operand();
        self.is_expression = was;
        expression
    }

    fn operand(&mut self) -> Option<NodeId> {
        self.deeper(Parser::any_operand)
    }

    fn any_operand(&mut self) -> Option<NodeId> {
        match (self.peek(), self.ahead(1)) {
            (b'L', _) => self.literal(),
            (b'T', _) => self.template_parameter(),
            (b's', b'r') => self.scoped_name(),
            (b's', b'p') => {
                self.skip(2);
                let pattern = self.operand()?;
                self.wrap(Kind::Expansion, pattern)
            }
            (b'f', b'p') => self.function_parameter(),
            (b'0'..=b'9', _) | (b'o', b'n') => {
                if self.is_next("on") {
                    self.skip(2);
                }
                self.name_with_arguments()
            }
            (b'i' | b't', b'l') => {
                let has_type = self.peek() == b't';
                self.skip(2);
                let of = if has_type { Some(self.type_()?) } else { None };
                let values = self.operands(b'E')?;
                self.nodes.add(Node::Tree(Kind::Initializers, of, Some(values)))
            }
            _ => self.operation(),
        }
    }

    fn name_with_arguments(&mut self) -> Option<NodeId> {
        let name = self.unqualified_name(None)?;
        match self.peek() {
            b'I' => self.with_arguments(name),
            _ => Some(name),
        }
    }

    /// `sr1AE1b`: `A::b`.
    fn scoped_name(&mut self) -> Option<NodeId> {
        self.skip(2);
        // A path up to `E`; gcc once wrote a type in its place.
        let before = self.checkpoint();
        if self.peek().is_ascii_digit() {
            let scope = self.prefix(false).filter(|_| self.take(b'E'));
            if let Some(name) = scope.and_then(|scope| self.unqualified_name(Some(scope))) {
                return match self.peek() {
                    b'I' => self.with_arguments(name),
                    _ => Some(name),
                };
            }
            self.back_to(before);
        }
        let scope = self.type_()?;
        let name = self.name_with_arguments()?;
        self.tree(Kind::Qualified, scope, name)
    }

    fn function_parameter(&mut self) -> Option<NodeId> {
        self.skip(2);
        let number = match self.take(b'T') {
            true => 0,
            false => self.compact_number()? + 1,
        };
        self.nodes.add(Node::FunctionParameter(number))
    }

    fn operands(&mut self, end: u8) -> Option<NodeId> {
        let mut operands = Vec::new();
        while !self.take(end) {
            operands.push(self.operand()?);
        }
        self.list(Kind::List, &operands)
    }

    fn operation(&mut self) -> Option<NodeId> {
        let operator = self.operator_name()?;
        let (code, operands) = match self.nodes.get(operator) {
            Node::Operator(known) => (known.code, known.operands),
            Node::VendorOperator(operands, _) => ("", operands),
            Node::Tree(Kind::Cast, ..) => ("", 1),
            _ => return None,
        };
        match operands {
            0 => self.wrap(Kind::Nullary, operator),
            1 => self.unary(operator, code),
            2 => self.binary(operator, code),
            3 => self.trinary(operator, code),
            _ => None,
        }
    }

    fn unary(&mut self, operator: NodeId, code: &str) -> Option<NodeId> {
        let is_cast = self.nodes.kind(operator) == Some(Kind::Cast);
        // `pp_` and `mm_` stand before, `pp` and `mm` behind.
        let is_behind = matches!(code, "pp" | "mm") && !self.take(b'_');
        let operand = match code {
            "st" | "at" => self.type_()?,
            "sP" => self.arguments_to_end()?,
            _ if is_cast && self.take(b'_') => self.operands(b'E')?,
            _ => self.operand()?,
        };
        let operand = match is_behind {
            true => self.tree(Kind::Operands, operand, operand)?,
            false => operand,
        };
        self.tree(Kind::Unary, operator, operand)
    }

    fn binary(&mut self, operator: NodeId, code: &str) -> Option<NodeId> {
        let left = match code {
            "cc" | "dc" | "rc" | "sc" => self.type_()?,
            "fl" | "fr" => self.operator_name()?,
            "di" => self.unqualified_name(None)?,
            _ => self.operand()?,
        };
        let right = match code {
            "cl" => self.operands(b'E')?,
            "dt" | "pt" => match self.is_next("sr") || self.is_next("gs") {
                true => self.operand()?,
                false => self.name_with_arguments()?,
            },
            _ => self.operand()?,
        };
        let operands = self.tree(Kind::Operands, left, right)?;
        self.tree(Kind::Binary, operator, operands)
    }

    fn trinary(&mut self, operator: NodeId, code: &str) -> Option<NodeId> {
        let (first, second, third) = match code {
            "fL" | "fR" => {
                let folded = self.operator_name()?;
                (folded, self.operand()?, Some(self.operand()?))
            }
            "nw" | "na" => {
                let place = self.operands(b'_')?;
                let of = self.type_()?;
                let values = match (self.next()?, self.peek()) {
                    (b'E', _) => None,
                    (b'p', b'i') => {
                        self.skip(1);
                        Some(self.operands(b'E')?)
                    }
                    (b'i', b'l') => {
                        self.skip(1);
                        let values = self.operands(b'E')?;
                        Some(self.nodes.add(Node::Tree(Kind::Initializers, None, Some(values)))?)
                    }
                    _ => return None,
                };
                (place, of, values)
            }
            _ => (self.operand()?, self.operand()?, Some(self.operand()?)),
        };
        let rest = self.nodes.add(Node::Tree(Kind::Rest, Some(second), third))?;
        let operands = self.tree(Kind::Operands, first, rest)?;
        self.tree(Kind::Trinary, operator, operands)
    }

    /// A value: of a number by its digits, of a function or object by its name.
    pub(super) fn literal(&mut self) -> Option<NodeId> {
        self.expect(b'L')?;
        if matches!(self.peek(), b'_' | b'Z') {
            // gcc left the `_` out once.
            self.take(b'_');
            self.expect(b'Z')?;
            let name = self.encoding(false)?;
            self.expect(b'E')?;
            return Some(name);
        }
        let of = self.type_()?;
        if matches!(self.nodes.get(of), Node::Builtin(of) if of.name == "decltype(nullptr)")
            && self.take(b'E')
        {
            return Some(of);
        }
        let kind = if self.take(b'n') { Kind::NegativeLiteral } else { Kind::Literal };
        let value = self.text_before(b'E').filter(|value| !value.is_empty())?;
        self.expect(b'E')?;
        let value = self.nodes.add(Node::Text(value))?;
        self.tree(kind, of, value)
    }
}
