//! Formulas: numbers, names, + - * / and parentheses.

use super::{Estimate, Figure};

/// A formula is no deeper: its reader and its evaluation go down with it.
const MAX_DEPTH: u32 = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    Number(f64),
    Name(String),
    /// Two parts and what is done with them: one of `+ - * /`.
    Both {
        operation: char,
        left: Box<Formula>,
        right: Box<Formula>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("formula {formula:?}, at byte {at}: {expected} is missing")]
pub struct FormulaError {
    pub formula: String,
    /// Where it fails, from 0.
    pub at: usize,
    pub expected: &'static str,
}

impl Formula {
    /// Reads one: `1000 * (a + b) / c`. Names are of letters, digits, `_`
    /// and `.`.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(text: &str) -> Result<Formula, FormulaError> {
        let mut reader = FormulaReader { text, at: 0, depth: 0 };
        let formula = reader.sum()?;
        match reader.next() {
            None => Ok(formula),
            Some(_) => Err(reader.expected("an operator, or the end,")),
        }
    }

    /// Its names, each once, in their order.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.collect(&mut names);
        names
    }

    fn collect<'f>(&'f self, names: &mut Vec<&'f str>) {
        match self {
            Formula::Number(_) => {}
            Formula::Name(name) if names.contains(&name.as_str()) => {}
            Formula::Name(name) => names.push(name),
            Formula::Both { left, right, .. } => {
                left.collect(names);
                right.collect(names);
            }
        }
    }

    /// Its value where names have these. A part that was not counted makes
    /// the whole no number.
    pub fn value(&self, of: &dyn Fn(&str) -> Figure) -> Figure {
        match self {
            Formula::Number(number) => Ok(Estimate::exact(*number)),
            Formula::Name(name) => of(name),
            Formula::Both { operation, left, right } => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                match operation {
                    '+' => Ok(left + right),
                    '-' => Ok(left - right),
                    '*' => Ok(left * right),
                    _ => left / right,
                }
            }
        }
    }
}

struct FormulaReader<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
}

impl FormulaReader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next letter that is no space; it stays.
    fn next(&mut self) -> Option<char> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, of: &str) -> Option<char> {
        let letter = self.next().filter(|letter| of.contains(*letter))?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn expected(&self, expected: &'static str) -> FormulaError {
        FormulaError { formula: self.text.to_owned(), at: self.at, expected }
    }

    fn sum(&mut self) -> Result<Formula, FormulaError> {
        let mut formula = self.product()?;
        while let Some(operation) = self.take("+-") {
            let right = Box::new(self.product()?);
            formula = Formula::Both { operation, left: Box::new(formula), right };
        }
        Ok(formula)
    }

    fn product(&mut self) -> Result<Formula, FormulaError> {
        let mut formula = self.part()?;
        while let Some(operation) = self.take("*/") {
            let right = Box::new(self.part()?);
            formula = Formula::Both { operation, left: Box::new(formula), right };
        }
        Ok(formula)
    }

    fn part(&mut self) -> Result<Formula, FormulaError> {
        if self.take("(").is_some() {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(self.expected("an end of so many parentheses"));
            }
            let formula = self.sum()?;
            self.depth -= 1;
            return match self.take(")") {
                Some(_) => Ok(formula),
                None => Err(self.expected("a closing parenthesis")),
            };
        }
        self.next();
        let is_inside = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
        let rest = self.rest();
        let word = &rest[..rest.find(|letter| !is_inside(letter)).unwrap_or(rest.len())];
        let (length, starts) = (word.len(), word.chars().next());
        let formula = match starts {
            Some('0'..='9') => word.parse().ok().map(Formula::Number),
            Some(letter) if letter.is_ascii_alphabetic() => Some(Formula::Name(word.to_owned())),
            _ => None,
        };
        let formula = formula.ok_or_else(|| self.expected("a number, a name or a parenthesis"))?;
        self.at += length;
        Ok(formula)
    }
}
