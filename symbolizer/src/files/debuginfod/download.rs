//! One request to one server.

use super::settings::Settings;
use super::{Downloads, Failure};
use rustls::crypto::ring;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(super) use ureq::Agent;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Body, Timeout};

/// Bytes that a server must send within the timeout.
const LEAST: u64 = 100 << 10;
/// As many as any server of debug files needs.
const MOST_REDIRECTS: u32 = 5;

/// What makes requests. The certificates are the system's, read once.
pub(super) fn agent(settings: &Settings) -> Agent {
    let secure = settings.urls.iter().any(|url| url.starts_with("https:"));
    let system = if secure { rustls_native_certs::load_native_certs().certs } else { Vec::new() };
    let roots: Vec<_> = system.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    Agent::config_builder()
        .tls_config(tls)
        .user_agent(concat!("hardmeter/", env!("CARGO_PKG_VERSION")))
        .http_status_as_error(false)
        .max_redirects(MOST_REDIRECTS)
        .timeout_resolve(settings.timeout)
        .timeout_connect(settings.timeout)
        .timeout_recv_response(settings.timeout)
        .timeout_per_read(settings.timeout)
        .timeout_global(settings.most_time)
        .build()
        .into()
}

/// Writes what the server sends to `file`, and goes back to its start.
pub(super) fn download(
    agent: &Agent,
    url: &str,
    settings: &Settings,
    listener: Option<&dyn Downloads>,
    file: &mut File,
) -> Result<(), Failure> {
    if let Some(listener) = listener {
        listener.asked(url);
    }
    let came = ask(agent, url, settings)
        .and_then(|response| take(response, settings, listener, file))
        .and_then(|()| file.rewind().map_err(|error| Failure::Other(error.to_string())));
    if let Some(listener) = listener {
        listener.ended(match &came {
            Ok(()) => None,
            Err(Failure::Absent) => Some("it does not have it"),
            Err(Failure::Dead(why) | Failure::Other(why)) => Some(why),
        });
    }
    came
}

fn ask(agent: &Agent, url: &str, settings: &Settings) -> Result<Response<Body>, Failure> {
    let secure = url.starts_with("https://");
    if !secure && !url.starts_with("http://") {
        return Err(Failure::Dead("only http:// and https:// are asked".to_owned()));
    }
    // What was to come from a known server must not come from anybody.
    let mut request = agent.get(url).config().https_only(secure).build();
    if let Some(most) = settings.most_bytes {
        request = request.header("X-DEBUGINFOD-MAXSIZE", most.to_string());
    }
    let response = request.call().map_err(|error| match error {
        ureq::Error::TooManyRedirects
        | ureq::Error::RedirectFailed
        | ureq::Error::RequireHttpsOnly(_)
        | ureq::Error::Protocol(_) => Failure::Other(error.to_string()),
        error => failed(error, settings),
    })?;
    match response.status().as_u16() {
        200 => {}
        404 | 410 => return Err(Failure::Absent),
        406 => return Err(Failure::Other("it is larger than DEBUGINFOD_MAXSIZE".to_owned())),
        status => return Err(Failure::Other(format!("it answers with status {status}"))),
    }
    // None is asked for, and what is not unpacked cannot swell.
    match response.headers().get("content-encoding") {
        Some(coding) if coding != "identity" => {
            Err(Failure::Other(format!("it sent {coding:?}-coded bytes unasked")))
        }
        _ => Ok(response),
    }
}

/// What did not come in time, or at all, and which variable says how long
/// that is.
fn failed(error: ureq::Error, settings: &Settings) -> Failure {
    let seconds = |bound: Option<Duration>| bound.unwrap_or_default().as_secs();
    match error {
        ureq::Error::Timeout(Timeout::Global) => {
            let most = seconds(settings.most_time);
            Failure::Other(format!("it is not here after {most} s (DEBUGINFOD_MAXTIME)"))
        }
        ureq::Error::Timeout(_) => {
            let most = seconds(settings.timeout);
            Failure::Dead(format!("nothing came for {most} s (DEBUGINFOD_TIMEOUT)"))
        }
        error => Failure::Dead(error.to_string()),
    }
}

fn take(
    response: Response<Body>,
    settings: &Settings,
    listener: Option<&dyn Downloads>,
    file: &mut File,
) -> Result<(), Failure> {
    let other = |error: io::Error| Failure::Other(error.to_string());
    let (head, body) = response.into_parts();
    let claimed = body.content_length();
    let size = || head.headers.get("x-debuginfod-size")?.to_str().ok()?.parse().ok();
    let of = claimed.or_else(size);
    let bounded = |bytes: u64| match settings.most_bytes.filter(|most| bytes > *most) {
        Some(most) => Err(Failure::Other(format!(
            "{bytes} bytes are more than DEBUGINFOD_MAXSIZE allows ({most})"
        ))),
        None => Ok(()),
    };
    claimed.map_or(Ok(()), bounded)?;
    let mut body = body.into_with_config().limit(u64::MAX).reader();
    let mut buffer = vec![0; 1 << 16];
    let (mut bytes, mut window, mut since) = (0, 0, Instant::now());
    loop {
        let read = body.read(&mut buffer).map_err(|error| match ureq::Error::from(error) {
            error @ ureq::Error::Timeout(_) => failed(error, settings),
            error => Failure::Other(error.to_string()),
        })?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        window += read as u64;
        bounded(bytes)?;
        file.write_all(&buffer[..read]).map_err(other)?;
        if let Some(listener) = listener {
            listener.came(bytes, of);
        }
        if let Some(timeout) = settings.timeout.filter(|timeout| since.elapsed() > *timeout) {
            if window < LEAST {
                let seconds = timeout.as_secs();
                let why = format!("{window} bytes came in {seconds} s (DEBUGINFOD_TIMEOUT)");
                return Err(Failure::Dead(why));
            }
            (window, since) = (0, Instant::now());
        }
    }
    match claimed {
        Some(claimed) if claimed != bytes => {
            Err(Failure::Other(format!("it ended after {bytes} of {claimed} bytes")))
        }
        _ => Ok(()),
    }
}
