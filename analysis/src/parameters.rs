//! C++ names without their parameters.

/// The name as perf prints it and as one types it: parameters, and what may
/// follow them, are left out. Parentheses inside the name (a conversion's
/// type, an anonymous namespace, an argument of a template) stay.
pub fn without_parameters(name: &str) -> &str {
    let tail = [" const", " volatile", " &", " &&"];
    let mut whole = name;
    while let Some(rest) = tail.iter().find_map(|word| whole.strip_suffix(word)) {
        whole = rest;
    }
    if !whole.ends_with(')') {
        return name;
    }
    let mut depth = 0_usize;
    for (at, byte) in whole.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            // `operator()` and `(anonymous namespace)` are names.
            let before = &whole[..at];
            return if before.is_empty() || before.ends_with("operator") || before.ends_with("::") {
                name
            } else {
                before
            };
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::without_parameters;

    #[test]
    fn parameters_go_and_names_stay() {
        for (name, short) in [
            ("main", "main"),
            ("operator new(unsigned long)", "operator new"),
            ("A::A()", "A::A"),
            ("A::get(int (*)(int)) const", "A::get"),
            ("A::operator()(int) const", "A::operator()"),
            ("f<void (*)(int)>(void (*)(int))", "f<void (*)(int)>"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("<T as core::fmt::Debug>::fmt", "<T as core::fmt::Debug>::fmt"),
            ("std::vec::Vec<fn(u8)>::new", "std::vec::Vec<fn(u8)>::new"),
            ("__x64_sys_read", "__x64_sys_read"),
            ("A::operator()", "A::operator()"),
            ("f(int) && ", "f(int) && "),
            (")(", ")("),
        ] {
            assert_eq!(without_parameters(name), short);
        }
    }
}
