//! A browser without a window, and without a network.

use crate::{Scene, rights};
use std::process::Command;

/// A page as the browser has it once its scripts have run.
#[derive(Debug)]
pub struct BrowsedPage {
    /// Its elements, as markup.
    pub dom: String,
    /// What the browser said on its stderr; of pages' own words those with `CONSOLE`.
    pub said: String,
}

/// Opens an address, of a file, in a browser, with these options besides. None: there is no
/// browser, and the test skips.
pub fn browse(test: &str, scene: &Scene, url: &str, options: &[&str]) -> Option<BrowsedPage> {
    if !rights::program(test, "chromium") {
        return None;
    }
    let mut chromium = Command::new("chromium");
    chromium.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        "--v=0",
        "--dump-dom",
    ]);
    let profile = format!("--user-data-dir={}", scene.path("profile").display());
    let ended = chromium.arg(profile).args(options).arg(url).output();
    let outcome = ended.unwrap_or_else(|error| panic!("chromium does not start: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(BrowsedPage { dom: text(&outcome.stdout), said: text(&outcome.stderr) })
}
