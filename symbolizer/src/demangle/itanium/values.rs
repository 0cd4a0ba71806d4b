//! Writes expressions, with as many parentheses as binutils.

use super::node::{Kind, LiteralForm, Node, NodeId};
use super::printer::Printer;

impl Printer<'_, '_> {
    pub(super) fn literal(&mut self, kind: Kind, of: NodeId, value: NodeId) -> Option<()> {
        let is_negative = kind == Kind::NegativeLiteral;
        let form = match self.nodes.get(of) {
            Node::Builtin(builtin) => builtin.literal,
            _ => LiteralForm::Cast,
        };
        match (form, self.nodes.get(value)) {
            (LiteralForm::Suffix(suffix), Node::Text(digits)) => {
                if is_negative {
                    self.push("-")?;
                }
                self.push(digits)?;
                return self.push(suffix);
            }
            (LiteralForm::Bool, Node::Text("0")) if !is_negative => return self.push("false"),
            (LiteralForm::Bool, Node::Text("1")) if !is_negative => return self.push("true"),
            _ => {}
        }
        self.push("(")?;
        self.print(of)?;
        self.push(")")?;
        if is_negative {
            self.push("-")?;
        }
        if form == LiteralForm::Float {
            self.push("[")?;
        }
        self.print(value)?;
        if form == LiteralForm::Float {
            self.push("]")?;
        }
        Some(())
    }

    pub(super) fn operator(&mut self, operator: NodeId) -> Option<()> {
        match self.nodes.get(operator) {
            Node::Operator(operator) => self.push(operator.name),
            _ => self.print(operator),
        }
    }

    /// In parentheses, unless it is a name.
    pub(super) fn operand(&mut self, operand: NodeId) -> Option<()> {
        let is_plain = matches!(
            self.nodes.get(operand),
            Node::Text(_)
                | Node::FunctionParameter(_)
                | Node::Tree(Kind::Qualified | Kind::Initializers, ..)
        );
        if is_plain {
            return self.print(operand);
        }
        self.push("(")?;
        self.print(operand)?;
        self.push(")")
    }

    pub(super) fn unary(&mut self, operator: NodeId, mut operand: NodeId) -> Option<()> {
        let code = match self.nodes.get(operator) {
            Node::Operator(operator) => operator.code,
            _ => "",
        };
        // The address of a function shows no parameters.
        if code == "ad"
            && let Some((Some(name), Some(of))) = self.nodes.parts(operand, Kind::Typed)
            && self.nodes.kind(name) == Some(Kind::Qualified)
            && self.nodes.kind(of) == Some(Kind::Function)
        {
            operand = name;
        }
        if let Some((before, _)) = self.nodes.parts(operand, Kind::Operands) {
            self.operand(before?)?;
            return self.operator(operator);
        }
        match code {
            "sZ" => {
                let count = self.pack(operand)?.map_or(0, |pack| self.count(pack));
                return self.push_number(count);
            }
            "sP" => {
                let count = self.count_arguments(operand)?;
                return self.push_number(count);
            }
            _ => {}
        }
        match self.nodes.parts(operator, Kind::Cast) {
            Some((to, _)) => {
                self.push("(")?;
                self.print_any(to)?;
                self.push(")")?;
            }
            None => self.operator(operator)?,
        }
        match code {
            "gs" => self.print(operand),
            "st" | "nx" => {
                self.push("(")?;
                self.print(operand)?;
                self.push(")")
            }
            _ => self.operand(operand),
        }
    }

    fn count_arguments(&mut self, list: NodeId) -> Option<usize> {
        let mut count = 0;
        let mut link = Some(list);
        while let Some((Some(item), rest)) =
            link.and_then(|link| self.nodes.parts(link, Kind::TemplateArguments))
        {
            count += match self.nodes.parts(item, Kind::Expansion) {
                Some((pattern, _)) => self.pack(pattern?)?.map_or(0, |pack| self.count(pack)),
                None => 1,
            };
            link = rest;
        }
        Some(count)
    }

    pub(super) fn binary(&mut self, operator: NodeId, operands: NodeId) -> Option<()> {
        let (left, right) = self.nodes.parts(operands, Kind::Operands)?;
        let (left, right) = (left?, right?);
        let (code, name) = match self.nodes.get(operator) {
            Node::Operator(operator) => (operator.code, operator.name),
            _ => ("", ""),
        };
        match code {
            "cc" | "dc" | "rc" | "sc" => {
                self.operator(operator)?;
                self.push("<")?;
                self.print(left)?;
                self.push(">(")?;
                self.print(right)?;
                return self.push(")");
            }
            "fl" | "fr" => return self.fold(code, left, right, None),
            "di" | "dx" => return self.designated(code, left, right, None),
            _ => {}
        }
        // Alone it would end the arguments of a template.
        let is_closing = name == ">";
        if is_closing {
            self.push("(")?;
        }
        match self.nodes.parts(left, Kind::Typed) {
            // What is called shows no parameters.
            Some((function, _)) if code == "cl" => self.operand(function?)?,
            _ => self.operand(left)?,
        }
        match code {
            "ix" => {
                self.push("[")?;
                self.print(right)?;
                self.push("]")?;
            }
            _ => {
                if code != "cl" {
                    self.operator(operator)?;
                }
                self.operand(right)?;
            }
        }
        if is_closing {
            self.push(")")?;
        }
        Some(())
    }

    pub(super) fn trinary(&mut self, operator: NodeId, operands: NodeId) -> Option<()> {
        let (first, rest) = self.nodes.parts(operands, Kind::Operands)?;
        let first = first?;
        let (second, third) = self.nodes.parts(rest?, Kind::Rest)?;
        let second = second?;
        let code = match self.nodes.get(operator) {
            Node::Operator(operator) => operator.code,
            _ => "",
        };
        match code {
            "fL" | "fR" => return self.fold(code, first, second, third),
            "dX" => return self.designated(code, first, second, third),
            "qu" => {
                self.operand(first)?;
                self.operator(operator)?;
                self.operand(second)?;
                self.push(" : ")?;
                return self.operand(third?);
            }
            _ => {}
        }
        self.push("new ")?;
        if self.nodes.left(first).is_some() {
            self.operand(first)?;
            self.push(" ")?;
        }
        self.print(second)?;
        third.map_or(Some(()), |third| self.operand(third))
    }

    /// `(... + pack)` and its like.
    fn fold(
        &mut self,
        code: &str,
        operator: NodeId,
        first: NodeId,
        second: Option<NodeId>,
    ) -> Option<()> {
        let element = self.element.take();
        self.push("(")?;
        if code == "fl" {
            self.push("...")?;
            self.operator(operator)?;
            self.operand(first)?;
        } else {
            self.operand(first)?;
            self.operator(operator)?;
            self.push("...")?;
        }
        if let Some(second) = second {
            self.operator(operator)?;
            self.operand(second)?;
        }
        self.push(")")?;
        self.element = element;
        Some(())
    }

    /// `.a=1`, `[1]=2`, `[1 ... 2]=3`.
    fn designated(
        &mut self,
        code: &str,
        first: NodeId,
        second: NodeId,
        third: Option<NodeId>,
    ) -> Option<()> {
        self.push(if code == "di" { "." } else { "[" })?;
        self.print(first)?;
        let mut value = second;
        if let Some(third) = third {
            self.push(" ... ")?;
            self.print(second)?;
            value = third;
        }
        if code != "di" {
            self.push("]")?;
        }
        let is_nested = matches!(
            self.nodes.get(value),
            Node::Tree(Kind::Binary | Kind::Trinary, Some(operator), _)
                if ["di", "dx", "dX"].iter().any(|code| self.nodes.is_operator(operator, code))
        );
        if is_nested {
            return self.print(value);
        }
        self.push("=")?;
        self.operand(value)
    }
}
