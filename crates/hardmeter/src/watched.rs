//! Where what is watched by its name lies: `mem:NAME` becomes an address.

mod error;
mod objects;

use std::fs::File;
use std::path::{Path, PathBuf};

use perfdata::Pid;
use recorder::did_you_mean;
use recorder::request::event_spec::{
    Breakpoint, BreakpointLocation, NamedBreakpoint, WatchedAccess,
};
use symbolizer::{NamedSymbol, SymbolKind, SymbolList};

pub use error::{KernelListError, WatchError};
use objects::NamedObject;

/// What asks for the kernel's own names.
const KERNEL: &str = "[kernel]";
/// What a loader calls, for debuggers, whenever it has mapped or is about to map something
/// (the r_brk of <link.h>).
const LOADER_TELLS: &str = "_dl_debug_state";
/// A variable that is listed where variables are.
const EVERY_KERNEL_HAS: &str = "init_task";
/// The bytes that a breakpoint watches at most.
const MOST: u64 = 8;

/// The files and the kernel, in which names are looked up.
#[derive(Debug)]
pub struct WatchedObjects {
    objects: Vec<NamedObject>,
    /// Names may be the kernel's.
    kernel: bool,
    root: PathBuf,
}

/// A breakpoint whose place was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBreakpoint {
    /// With its address.
    pub point: Breakpoint,
    /// What it is, for the user.
    pub note: String,
}

struct Candidate<'o> {
    object: Option<&'o NamedObject>,
    symbol: NamedSymbol,
}

impl WatchedObjects {
    /// Those of a running process, which `root/proc` shows.
    ///
    /// # Errors
    /// It is not there, or may not be looked at.
    pub fn of_process(pid: Pid, root: &Path) -> Result<WatchedObjects, WatchError> {
        let objects = NamedObject::of_process(pid, root)?;
        Ok(WatchedObjects { objects, kernel: false, root: root.to_owned() })
    }

    /// A program that is loaded where it was linked, whoever starts it. None: it
    /// is not, or no program.
    pub fn of_fixed(file: &Path) -> Option<WatchedObjects> {
        let object = NamedObject::unloaded(file);
        let is_fixed = object.names().is_some_and(|names| !names.is_movable());
        is_fixed.then(|| WatchedObjects { objects: vec![object], kernel: false, root: "/".into() })
    }

    /// Where a name may be that has one address in all processes.
    ///
    /// # Errors
    /// There is none.
    pub fn of_all(point: &NamedBreakpoint, root: &Path) -> Result<WatchedObjects, WatchError> {
        let fail = |why| WatchError::NoOneAddress { event: point.to_string(), why };
        let none = WatchedObjects { objects: Vec::new(), kernel: false, root: root.to_owned() };
        match point.object.as_deref() {
            Some(KERNEL) => Ok(none),
            None => Err(fail("no file is named".to_owned())),
            Some(file) => WatchedObjects::of_fixed(Path::new(file)).ok_or_else(|| {
                let why = match File::open(file) {
                    Err(error) => format!("{file} cannot be opened: {error}"),
                    Ok(_) => format!(
                        "{file} is no program, or position-independent, which is loaded elsewhere in \
                         each process"
                    ),
                };
                fail(why)
            }),
        }
    }

    /// Where the loader comes by while libraries are not mapped yet, or just have
    /// been, and last the program's own beginning. None: nothing is to be loaded.
    pub fn loading(&self) -> Option<Vec<u64>> {
        let program = self.objects.iter().find(|object| object.is_program)?;
        let loader = self.objects.iter().find(|object| !object.is_program)?;
        let told = || {
            let told = loader.names()?.called(LOADER_TELLS).first()?.start;
            Some(told.wrapping_add(loader.bias()?))
        };
        let begin = program.names()?.entry().wrapping_add(program.bias()?);
        Some(told().into_iter().chain([begin]).collect())
    }

    /// The same, and the kernel's names for what is in no file.
    pub fn with_kernel(self, kernel: bool) -> WatchedObjects {
        WatchedObjects { kernel, ..self }
    }

    /// Where a name lies.
    ///
    /// # Errors
    /// It is not there, or several are; what else keeps it from being watched.
    pub fn find(&self, point: &NamedBreakpoint) -> Result<FoundBreakpoint, WatchError> {
        if point.object.as_deref() == Some(KERNEL) {
            return self.of_kernel(point);
        }
        let meant = self.meant(point)?;
        let (name, offset) = match &point.spot {
            BreakpointLocation::FileAddress(address) => return at_address(point, &meant, *address),
            BreakpointLocation::Symbol { name, offset } => (name, *offset),
        };
        let named = |of_program: bool| -> Vec<Candidate<'_>> {
            let objects = meant.iter().filter(|object| object.is_program == of_program);
            objects
                .flat_map(|object| {
                    let symbols = object.names().map(|names| names.called(name));
                    let symbols = symbols.unwrap_or_default().into_iter();
                    symbols.map(|symbol| Candidate { object: Some(object), symbol })
                })
                .collect()
        };
        // What a program has is what its libraries use, too.
        let wanted = |found: &[Candidate<'_>]| found.iter().any(|one| is_wanted(point, one));
        let mut found = named(true);
        if !wanted(&found) {
            found.extend(named(false));
        }
        if !wanted(&found) && self.kernel && point.object.is_none() {
            return self.of_kernel(point);
        }
        let one =
            only(point, name, found).unwrap_or_else(|| Err(self.absent(point, name, &meant)))?;
        let bias = one.object.and_then(NamedObject::bias).unwrap_or(0);
        let mut found = one.watch(point, offset, bias)?;
        if let Some(program) = self.copied(&one) {
            let typed = NamedBreakpoint { object: Some(program.to_owned()), ..point.clone() };
            found.note.push_str(&format!(
                ", which nobody uses: {program} has a copy of it (copy relocation), {typed}"
            ));
        }
        Ok(found)
    }

    /// The program, if that has a copy of a library's variable: the loader has all
    /// use the copy.
    fn copied(&self, one: &Candidate<'_>) -> Option<&str> {
        let is_copy = one.symbol.kind == SymbolKind::Variable && one.symbol.is_global;
        let program = self.objects.iter().find(|object| object.is_program)?;
        let own = one.object.is_some_and(|object| !object.is_program);
        let same = |found: &NamedSymbol| found.is_global && found.kind == SymbolKind::Variable;
        (is_copy && own && program.names()?.called(&one.symbol.raw).iter().any(same))
            .then(|| program.file_name())
    }

    fn meant(&self, point: &NamedBreakpoint) -> Result<Vec<&NamedObject>, WatchError> {
        let Some(object) = &point.object else { return Ok(self.objects.iter().collect()) };
        let meant: Vec<_> = self.objects.iter().filter(|one| one.is_called(object)).collect();
        if meant.is_empty() {
            let known: Vec<&str> = self.objects.iter().map(NamedObject::file_name).collect();
            return Err(WatchError::Object {
                event: point.to_string(),
                object: object.clone(),
                known: known.join(", "),
            });
        }
        Ok(meant)
    }

    fn of_kernel(&self, point: &NamedBreakpoint) -> Result<FoundBreakpoint, WatchError> {
        let path = self.root.join("proc/kallsyms");
        let fail = |why: KernelListError| WatchError::Kernel {
            event: point.to_string(),
            path: path.display().to_string(),
            why,
        };
        let BreakpointLocation::Symbol { name, offset } = &point.spot else {
            let (event, object) = (point.to_string(), KERNEL.to_owned());
            let BreakpointLocation::FileAddress(address) = point.spot else {
                return Err(WatchError::Outside { event, object, address: 0 });
            };
            return Err(WatchError::Outside { event, object, address });
        };
        let bytes = std::fs::read(&path).map_err(|error| fail(error.into()))?;
        let list = SymbolList::parse(bytes).map_err(|error| fail(error.into()))?;
        let found = list.called(name).into_iter();
        let found = found.map(|symbol| Candidate { object: None, symbol }).collect();
        let absent = || WatchError::Absent {
            event: point.to_string(),
            what: wanted_kind(point).1,
            name: name.clone(),
            place: if self.objects.is_empty() {
                "the kernel".to_owned()
            } else {
                "the program, its libraries and the kernel".to_owned()
            },
            suggestion: match wanted_kind(point).0 {
                SymbolKind::Variable if list.called(EVERY_KERNEL_HAS).is_empty() => {
                    "; this kernel lists no variables (CONFIG_KALLSYMS_ALL)".to_owned()
                }
                _ => String::new(),
            },
        };
        let one = only(point, name, found).unwrap_or_else(|| Err(absent()))?;
        one.watch(point, *offset, 0)
    }

    fn absent(&self, point: &NamedBreakpoint, name: &str, meant: &[&NamedObject]) -> WatchError {
        let names = meant.iter().filter_map(|object| object.names());
        let mut all: Vec<String> =
            names.flat_map(|names| names.names(wanted_kind(point).0)).collect();
        all.sort_unstable();
        all.dedup();
        let place: Vec<&str> = match meant {
            [program, _, ..] if point.object.is_none() => {
                let program = meant.iter().find(|one| one.is_program).unwrap_or(program);
                vec![program.path.as_str(), "its libraries"]
            }
            _ => meant.iter().map(|object| object.path.as_str()).collect(),
        };
        WatchError::Absent {
            event: point.to_string(),
            what: wanted_kind(point).1,
            name: name.to_owned(),
            place: place.join(" and "),
            suggestion: did_you_mean(name, all.iter().map(String::as_str)),
        }
    }
}

fn wanted_kind(point: &NamedBreakpoint) -> (SymbolKind, &'static str) {
    match point.access {
        WatchedAccess::Execute => (SymbolKind::Routine, "routine"),
        _ => (SymbolKind::Variable, "variable"),
    }
}

fn is_wanted(point: &NamedBreakpoint, one: &Candidate<'_>) -> bool {
    one.symbol.kind == wanted_kind(point).0
}

/// The only one of those found that can be watched so. None: nothing was found.
fn only<'o>(
    point: &NamedBreakpoint,
    name: &str,
    found: Vec<Candidate<'o>>,
) -> Option<Result<Candidate<'o>, WatchError>> {
    let (event, name) = (point.to_string(), name.to_owned());
    let (mut wanted, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|one| is_wanted(point, one));
    if wanted.len() > 1 {
        let choices = wanted.iter().map(|one| one.choice(point, &wanted)).collect();
        return Some(Err(WatchError::Several { event, name, choices }));
    }
    if let Some(one) = wanted.pop() {
        return Some(Ok(one));
    }
    let other = others.into_iter().next()?;
    let place = point.place();
    Some(Err(match other.symbol.kind {
        SymbolKind::ThreadLocal => WatchError::ThreadLocal { event, name },
        SymbolKind::Routine => {
            let advice = format!("mem:{place}:x counts its calls");
            WatchError::Kind { event, name, is: "routine", advice }
        }
        SymbolKind::Variable => {
            let advice =
                format!("mem:{place}:w tells who writes to it, mem:{place}:rw who uses it");
            WatchError::Kind { event, name, is: "variable", advice }
        }
    }))
}

fn at_address(
    point: &NamedBreakpoint,
    meant: &[&NamedObject],
    address: u64,
) -> Result<FoundBreakpoint, WatchError> {
    let has = |object: &&&NamedObject| object.names().is_some_and(|names| names.has(address));
    let found = meant.iter().find(has).and_then(|object| Some((object, object.bias()?)));
    let Some((object, bias)) = found else {
        let objects: Vec<&str> = meant.iter().map(|object| object.path.as_str()).collect();
        let (event, object) = (point.to_string(), objects.join(" and "));
        return Err(WatchError::Outside { event, object, address });
    };
    let there = point.at(address.wrapping_add(bias), point.len.unwrap_or(4))?;
    let note = format!("{there} is at {:#x}: {address:#x} of {}", there.address, object.path);
    Ok(FoundBreakpoint { point: there, note })
}

impl Candidate<'_> {
    fn object_name(&self) -> &str {
        self.object.map_or(KERNEL, |object| object.path.as_str())
    }

    /// What to type for this one of `all`.
    fn choice(&self, point: &NamedBreakpoint, all: &[Candidate<'_>]) -> String {
        let file = self.object.map_or(KERNEL, NamedObject::file_name);
        let here = all.iter().filter(|one| one.object_name() == self.object_name()).count();
        let spot = match here {
            1 => point.spot.clone(),
            _ => BreakpointLocation::FileAddress(self.symbol.start.wrapping_add(offset_of(point))),
        };
        let len = match point.access {
            WatchedAccess::Execute => None,
            _ if here == 1 => point.len,
            _ => Some(point.len.unwrap_or_else(|| self.length(offset_of(point), 0))),
        };
        let object = Some(file.to_owned());
        let typed = NamedBreakpoint { spot, object, len, access: point.access };
        let NamedSymbol { name, start, size, is_global, .. } = &self.symbol;
        let scope = if *is_global { "" } else { ", static" };
        format!("{typed}  ({name} at {start:#x}, {size} bytes{scope}, of {})", self.object_name())
    }

    /// The bytes to watch where that was not said: all of a variable that a
    /// breakpoint can hold; else what fits from there on.
    fn length(&self, offset: u64, address: u64) -> u8 {
        let left = match self.symbol.size {
            0 => MOST,
            size => size.saturating_sub(offset),
        };
        let fits = |len: &u8| {
            let len = u64::from(*len);
            len <= left
                && address.is_multiple_of(len)
                && offset.wrapping_add(self.symbol.start).is_multiple_of(len)
        };
        [8, 4, 2].into_iter().find(fits).unwrap_or(1)
    }

    fn watch(
        &self,
        point: &NamedBreakpoint,
        offset: u64,
        bias: u64,
    ) -> Result<FoundBreakpoint, WatchError> {
        let NamedSymbol { name, start, size, .. } = &self.symbol;
        if *size > 0 && offset >= *size {
            let (event, name, size) = (point.to_string(), name.clone(), *size);
            return Err(WatchError::Beyond { event, name, size, offset });
        }
        let address = start.wrapping_add(bias).wrapping_add(offset);
        let len = point.len.unwrap_or_else(|| self.length(offset, address));
        let there = point.at(address, len)?;
        let of = self.object_name();
        let what = match point.access {
            WatchedAccess::Execute => format!("routine {name} of {of}"),
            _ if u64::from(len) == *size && offset == 0 => format!("variable {name} of {of}"),
            _ if *size == 0 => format!("{len} bytes of variable {name} of {of}"),
            _ => format!("{len} of the {size} bytes of variable {name} of {of}"),
        };
        let note = format!("{there} is at {address:#x}: {what}");
        Ok(FoundBreakpoint { point: there, note })
    }
}

fn offset_of(point: &NamedBreakpoint) -> u64 {
    match &point.spot {
        BreakpointLocation::Symbol { offset, .. } => *offset,
        BreakpointLocation::FileAddress(_) => 0,
    }
}

#[cfg(test)]
mod tests;
