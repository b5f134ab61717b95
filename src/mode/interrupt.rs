//! What asks a run without a screen to end: Ctrl+C, SIGTERM, SIGHUP. Each ends what runs first, so that
//! no process of a tool stays behind (I13).

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl+C: a person, who may only mean what runs.
    Key,
    /// The system, or the terminal that has gone.
    Demand,
}

/// Listens from its making on: nothing is missed between two looks.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupts {
    /// Takes the signals over.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.interrupt.recv() => Interrupt::Key,
            _ = self.terminate.recv() => Interrupt::Demand,
            _ = self.hang_up.recv() => Interrupt::Demand,
        }
    }
}
