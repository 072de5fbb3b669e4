//! Names of functions as programmers wrote them.

use std::borrow::Cow;

/// Longer names of templates are cut.
const NAME_CHARACTERS_MAX: usize = 120;

/// `_ZN4Dump5writeEv` is `Dump::write`, `__output_MOD_write_history` is `write_history`.
pub(super) fn readable(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    if let Some(name) = fortran(name) {
        return name.into();
    }
    // Alone, `f` would be read as the code of a type: float.
    let mangled = ["_Z", "_R"].iter().any(|start| name.starts_with(start));
    let name_itself = Cow::Borrowed(name);
    let demangled = if mangled { addr2line::demangle_auto(name_itself, None) } else { name_itself };
    // gcc's pieces of functions: name.part.0, name.constprop.1, name.cold
    let plain = if demangled == name { name.split('.').next().unwrap_or(name) } else { &demangled };
    shortened(without_arguments(plain))
}

/// gfortran's procedures: of a module, or a program's or an external one with its underscore, which
/// a name of C seldom ends with.
fn fortran(name: &str) -> Option<&str> {
    if let Some((_, procedure)) = name.strip_prefix("__").and_then(|rest| rest.split_once("_MOD_"))
    {
        return Some(procedure);
    }
    (name == "MAIN__").then_some("program")
}

/// `void Dump::write(int) const` without what is before and behind the name.
fn without_arguments(name: &str) -> &str {
    let end = name.strip_suffix(" const").unwrap_or(name);
    let Some(rest) = end.strip_suffix(')') else { return name };
    let mut depth = 1usize;
    for (at, character) in rest.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return if at == 0 { name } else { without_type(&rest[..at]) };
        }
    }
    name
}

/// Templates name what they return.
fn without_type(name: &str) -> &str {
    let mut depth = 0usize;
    let mut from = 0;
    if !name.contains('<') || name.contains("operator") {
        return name;
    }
    for (at, character) in name.char_indices() {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => from = at + 1,
            _ => {}
        }
    }
    &name[from..]
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_programmers_wrote() {
        for (symbol, name) in [
            ("main", "main"),
            ("f", "f"),
            ("St", "St"),
            ("write_history.part.0", "write_history"),
            ("fwrite@@GLIBC_2.2.5", "fwrite"),
            ("__output_MOD_write_history", "write_history"),
            ("MAIN__", "program"),
            ("_ZN9LAMMPS_NS4Dump5writeEv", "LAMMPS_NS::Dump::write"),
            ("_ZNK4Foam3XYZ5writeERKNS_2OSE", "Foam::XYZ::write"),
            ("_ZN12_GLOBAL__N_13putEi", "(anonymous namespace)::put"),
            ("_Z3putIiEvT_", "put<int>"),
            ("_ZN3FooclEi", "Foo::operator()"),
            ("_ZN5model6output5write17h0123456789abcdefE", "model::output::write"),
        ] {
            assert_eq!(readable(symbol), name, "{symbol}");
        }
    }
}
