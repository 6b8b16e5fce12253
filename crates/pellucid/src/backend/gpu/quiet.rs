//! Drivers that talk: on a Linux machine without a desktop, Mesa's layer that looks for the desktop's GPU asks Wayland's
//! library, which prints an error on standard error every time. Nobody who computes wants to know.
//!
//! The library's own log handler is replaced by one that leaves out this line. The environment, which could switch the
//! layer off, cannot be changed safely while other threads run.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Once;

/// A C list of arguments. On the systems this is compiled for it is passed by address, whatever it is made of.
type Arguments = *mut c_void;
type Handler = unsafe extern "C" fn(*const c_char, Arguments);

unsafe extern "C" {
    fn vdprintf(descriptor: c_int, format: *const c_char, arguments: Arguments) -> c_int;
}

/// Keeps Wayland's library from reporting that there is no desktop. Does nothing where there is one.
pub(super) fn quiet_drivers() {
    static ONCE: Once = Once::new();
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        ONCE.call_once(set_handler);
    }
}

fn set_handler() {
    // SAFETY: the names are texts that end in zero; loading the library runs only its own initialisation, as the
    // driver's loader will a moment later.
    let set = unsafe {
        let library = libc::dlopen(c"libwayland-client.so.0".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            return;
        }
        libc::dlsym(library, c"wl_log_set_handler_client".as_ptr())
    };
    if set.is_null() {
        return;
    }
    // SAFETY: this is the function's type in Wayland's headers. The library stays loaded, and the handler is a function,
    // which lives as long as the process.
    unsafe {
        let set: unsafe extern "C" fn(Handler) = std::mem::transmute(set);
        set(say);
    }
}

/// Prints a message as the library itself would, but for the one about the desktop.
unsafe extern "C" fn say(format: *const c_char, arguments: Arguments) {
    // SAFETY: the library passes a format that ends in zero, and the arguments that belong to it.
    unsafe {
        if !CStr::from_ptr(format).to_bytes().windows(15).any(|part| part == b"XDG_RUNTIME_DIR") {
            vdprintf(2, format, arguments);
        }
    }
}
