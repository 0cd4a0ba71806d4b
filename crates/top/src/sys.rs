//! The edge to the kernel: signals after which nothing of this program runs
//! but one handler.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Leaves the alternate screen and shows the cursor (`\E[?1049l`, xterm's
/// control sequences; `\E[?25h`, DECTCEM).
pub(crate) const GIVE_BACK: &[u8] = b"\x1b[?1049l\x1b[?25h";

static BEFORE: OnceLock<libc::termios> = OnceLock::new();
static IS_ARMED: AtomicBool = AtomicBool::new(false);
/// What was done for faults before: the standard library tells of a stack that
/// overflows.
static EARLIER: OnceLock<[Option<libc::sigaction>; FAULTS.len()]> = OnceLock::new();

/// What the processor or the kernel raises for what an instruction did.
const FAULTS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// Keeps what the terminal of stdin is like now, and hears from now on of
/// faults and of real-time signals that nobody hears. Once; later calls keep
/// what the first one saw.
///
/// # Errors
///
/// stdin is no terminal.
pub(crate) fn watch() -> io::Result<()> {
    if BEFORE.get().is_some() {
        return Ok(());
    }
    let mut before = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the kernel writes a termios there, or nothing and says so.
    if unsafe { libc::tcgetattr(libc::STDIN_FILENO, before.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: tcgetattr has filled it.
    let _known = BEFORE.set(unsafe { before.assume_init() });
    let _known = EARLIER.set(FAULTS.map(handle_fault));
    for signal in libc::SIGRTMIN()..=libc::SIGRTMAX() {
        if is_handled_by(signal, libc::SIG_DFL) {
            handle(signal);
        }
    }
    Ok(())
}

/// The terminal is taken, or was given back.
pub(crate) fn arm(is_taken: bool) {
    IS_ARMED.store(is_taken, Ordering::SeqCst);
}

fn handle_fault(signal: i32) -> Option<libc::sigaction> {
    if is_handled_by(signal, libc::SIG_IGN) { None } else { handle(signal) }
}

fn handle(signal: i32) -> Option<libc::sigaction> {
    let mut earlier = MaybeUninit::<libc::sigaction>::uninit();
    let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    // SAFETY: all of it is a valid sigaction: no flags, no mask, SIG_DFL.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as libc::sighandler_t;
    // Threads of Rust have a stack for handlers; theirs may have overflowed.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both point to a sigaction; the handler calls what may be called
    // in one (signal-safety(7)) and nothing else.
    let is_set = unsafe { libc::sigaction(signal, &raw const action, earlier.as_mut_ptr()) } == 0;
    // SAFETY: the kernel has filled it where it took the other.
    is_set.then(|| unsafe { earlier.assume_init() })
}

fn is_handled_by(signal: i32, handler: libc::sighandler_t) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: it points to room for a sigaction; none is set.
    if unsafe { libc::sigaction(signal, ptr::null(), now.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the kernel has filled it.
    unsafe { now.assume_init() }.sa_sigaction == handler
}

/// Gives the terminal back; then the signal does what it does elsewhere.
extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if IS_ARMED.swap(false, Ordering::SeqCst)
        && let Some(before) = BEFORE.get()
    {
        // SAFETY: it lends the bytes of a constant for the call.
        unsafe { libc::write(libc::STDOUT_FILENO, GIVE_BACK.as_ptr().cast(), GIVE_BACK.len()) };
        // SAFETY: it lends a termios for the call.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, ptr::from_ref(before)) };
    }
    // SAFETY: with SA_SIGINFO the kernel gives a valid one (sigaction(2)).
    let code = unsafe { (*info).si_code };
    // What is behind the call that a filter refused, or met no broken memory itself, goes on.
    let returns = match signal {
        libc::SIGTRAP | libc::SIGSYS => true,
        libc::SIGBUS => code == libc::BUS_MCEERR_AO,
        _ => false,
    };
    let is_of_instruction = code > 0 && !returns;
    let place = FAULTS.iter().position(|fault| *fault == signal);
    let earlier = place.and_then(|at| EARLIER.get()?.get(at)?.as_ref());
    match earlier {
        // The instruction faults again, and whoever was there hears of it.
        Some(earlier) if is_of_instruction => {
            // SAFETY: it lends a sigaction that the kernel gave.
            unsafe { libc::sigaction(signal, ptr::from_ref(earlier), ptr::null_mut()) };
        }
        _ => {
            // SAFETY: the default is always there to be set.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            // SAFETY: it waits until this handler returns, and ends us then.
            unsafe { libc::raise(signal) };
        }
    }
}
