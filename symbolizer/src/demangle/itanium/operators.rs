//! The operators of the language, by their codes (Itanium C++ ABI, 5.1.3.3).

#[derive(Debug)]
pub(super) struct Operator {
    pub(super) code: &'static str,
    pub(super) name: &'static str,
    pub(super) operands: u8,
}

impl Operator {
    pub(super) fn of(code: &str) -> Option<&'static Operator> {
        OPERATORS.iter().find(|operator| operator.code == code)
    }
}

macro_rules! operators {
    ($($code:literal $name:literal $operands:literal;)*) => {
        static OPERATORS: &[Operator] =
            &[$(Operator { code: $code, name: $name, operands: $operands }),*];
    };
}

operators! {
    "aN" "&=" 2; "aS" "=" 2; "aa" "&&" 2; "ad" "&" 1; "an" "&" 2; "at" "alignof " 1;
    "aw" "co_await " 1; "az" "alignof " 1; "cc" "const_cast" 2; "cl" "()" 2; "cm" "," 2; "co" "~" 1;
    "dV" "/=" 2; "dX" "[...]=" 3; "da" "delete[] " 1; "dc" "dynamic_cast" 2; "de" "*" 1; "di" "=" 2;
    "dl" "delete " 1; "ds" ".*" 2; "dt" "." 2; "dv" "/" 2; "dx" "]=" 2; "eO" "^=" 2; "eo" "^" 2;
    "eq" "==" 2; "fL" "..." 3; "fR" "..." 3; "fl" "..." 2; "fr" "..." 2; "ge" ">=" 2; "gs" "::" 1;
    "gt" ">" 2; "ix" "[]" 2; "lS" "<<=" 2; "le" "<=" 2; "li" "operator\"\" " 1; "ls" "<<" 2;
    "lt" "<" 2; "mI" "-=" 2; "mL" "*=" 2; "mi" "-" 2; "ml" "*" 2; "mm" "--" 1; "na" "new[]" 3;
    "ne" "!=" 2; "ng" "-" 1; "nt" "!" 1; "nw" "new" 3; "nx" "noexcept" 1; "oR" "|=" 2; "oo" "||" 2;
    "or" "|" 2; "pL" "+=" 2; "pl" "+" 2; "pm" "->*" 2; "pp" "++" 1; "ps" "+" 1; "pt" "->" 2;
    "qu" "?" 3; "rM" "%=" 2; "rS" ">>=" 2; "rc" "reinterpret_cast" 2; "rm" "%" 2; "rs" ">>" 2;
    "sP" "sizeof..." 1; "sZ" "sizeof..." 1; "sc" "static_cast" 2; "ss" "<=>" 2; "st" "sizeof " 1;
    "sz" "sizeof " 1; "tr" "throw" 0; "tw" "throw " 1;
}
