//! The functions of hardmeter.h. No panic leaves them: it becomes an error.

use crate::handle::SamplerHandle;
use crate::sample::{CAccount, CSample};
use crate::settings::CSettings;
use sampler::{RegionSide, Sampler};
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

const FAILED: c_int = -1;

/// Runs `what`; a panic is `failed`.
fn guarded<T>(failed: T, what: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or(failed)
}

/// The bytes of a text; empty of a null pointer.
///
/// # Safety
/// Null, or a text that ends in a NUL and outlives the use.
unsafe fn bytes<'t>(text: *const c_char) -> &'t [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

/// The sampler behind a pointer.
///
/// # Safety
/// Null, or of `hardmeter_open`, not closed, and used by no other thread
/// meanwhile.
unsafe fn handle<'h>(sampler: *mut SamplerHandle) -> Option<&'h mut SamplerHandle> {
    // SAFETY: the caller's promise.
    unsafe { sampler.as_mut() }
}

/// Tells whoever listens that the calling thread enters a region.
///
/// # Safety
/// `name` is null or ends in a NUL.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_log_begin(name: *const c_char) {
    // SAFETY: as promised above.
    let name = unsafe { bytes(name) };
    guarded((), || sampler::log(RegionSide::Begin, name));
}

/// Tells whoever listens that the calling thread leaves a region.
///
/// # Safety
/// `name` is null or ends in a NUL.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_log_end(name: *const c_char) {
    // SAFETY: as promised above.
    let name = unsafe { bytes(name) };
    guarded((), || sampler::log(RegionSide::End, name));
}

/// Opens a sampler; null: why not is in `error`.
///
/// # Safety
/// `settings` points to a struct of the size that it says, `error` to so many
/// bytes or is null.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_open(
    settings: *const CSettings,
    error: *mut c_char,
    error_size: usize,
) -> *mut SamplerHandle {
    let opened = guarded(Err("a fault of hardmeter: please report it".to_owned()), || {
        // SAFETY: as promised above: it has a size at least.
        let size = unsafe { settings.cast::<usize>().as_ref() }.copied().unwrap_or(0);
        if size < size_of::<CSettings>() {
            return Err(format!(
                "settings of {size} bytes; set size to sizeof(struct hardmeter_settings)"
            ));
        }
        // SAFETY: as promised above: as large as it must be.
        let settings = unsafe { settings.read() };
        // SAFETY: as promised above.
        let event = unsafe { bytes(settings.event) };
        let event = std::str::from_utf8(event).map_err(|_| "event is no UTF-8".to_owned())?;
        let settings = settings.read(event)?;
        Sampler::open(settings).map_err(|error| error.to_string())
    });
    match opened {
        Ok(sampler) => Box::into_raw(Box::new(SamplerHandle::new(sampler))),
        Err(why) => {
            // SAFETY: as promised above.
            unsafe { copy(&why, error, error_size) };
            ptr::null_mut()
        }
    }
}

/// Copies a text as far as it fits, with a NUL.
///
/// # Safety
/// `to` is null or points to `size` bytes.
unsafe fn copy(text: &str, to: *mut c_char, size: usize) {
    if to.is_null() || size == 0 {
        return;
    }
    let mut ended = text.as_bytes()[..text.len().min(size - 1)].to_vec();
    ended.push(0);
    // SAFETY: no more than the caller promises there is room for.
    unsafe { ptr::copy_nonoverlapping(ended.as_ptr().cast(), to, ended.len()) };
}

/// Counts from now on: 0, or -1.
///
/// # Safety
/// See `hardmeter_close`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_enable(sampler: *mut SamplerHandle) -> c_int {
    // SAFETY: as promised above.
    let Some(handle) = (unsafe { handle(sampler) }) else { return FAILED };
    guarded(FAILED, || if handle.tried(Sampler::enable) { 0 } else { FAILED })
}

/// Counts no more: 0, or -1.
///
/// # Safety
/// See `hardmeter_close`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_disable(sampler: *mut SamplerHandle) -> c_int {
    // SAFETY: as promised above.
    let Some(handle) = (unsafe { handle(sampler) }) else { return FAILED };
    guarded(FAILED, || if handle.tried(Sampler::disable) { 0 } else { FAILED })
}

/// The next sample: 1; 0: there is none now; or -1.
///
/// # Safety
/// See `hardmeter_close`; `sample` points to a struct of the size that it says.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_next(sampler: *mut SamplerHandle, sample: *mut CSample) -> c_int {
    // SAFETY: as promised above.
    let Some(handle) = (unsafe { handle(sampler) }) else { return FAILED };
    // SAFETY: as promised above: it has a size at least.
    let size = unsafe { sample.cast::<usize>().as_ref() }.copied().unwrap_or(0);
    if size < size_of::<CSample>() {
        return FAILED;
    }
    guarded(FAILED, || {
        if !handle.refill() {
            return FAILED;
        }
        let Some(found) = handle.next() else { return 0 };
        // SAFETY: as promised above: as large as it must be.
        unsafe { sample.write(found) };
        1
    })
}

/// Stops for good: 0 and the account, or -1.
///
/// # Safety
/// See `hardmeter_close`; `account` is null or points to a struct of the size
/// that it says.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_finish(
    sampler: *mut SamplerHandle,
    account: *mut CAccount,
) -> c_int {
    // SAFETY: as promised above.
    let Some(handle) = (unsafe { handle(sampler) }) else { return FAILED };
    // SAFETY: as promised above: it has a size at least.
    let size = unsafe { account.cast::<usize>().as_ref() }.copied();
    if size.is_some_and(|size| size < size_of::<CAccount>()) {
        return FAILED;
    }
    guarded(FAILED, || {
        let Some(found) = handle.finish() else { return FAILED };
        if size.is_some() {
            // SAFETY: as promised above: as large as it must be.
            unsafe { account.write(found) };
        }
        0
    })
}

/// What went wrong last; empty: nothing. Holds until the next call.
///
/// # Safety
/// See `hardmeter_close`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_error(sampler: *mut SamplerHandle) -> *const c_char {
    // SAFETY: as promised above.
    let handle = unsafe { handle(sampler) };
    handle.map_or(c"there is no sampler".as_ptr(), |handle| handle.error().as_ptr())
}

/// Stops sampling and frees all; null is passed over.
///
/// # Safety
/// Null, or of `hardmeter_open`, not closed before, and used by no other
/// thread meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn hardmeter_close(sampler: *mut SamplerHandle) {
    if sampler.is_null() {
        return;
    }
    // SAFETY: as promised above: nobody else has it.
    let handle = unsafe { Box::from_raw(sampler) };
    guarded((), move || drop(handle));
}
