//! The unit: what DPDK's testpmd takes to pass a packet from one `net_null` port to another.

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use arrayvec::ArrayVec;
use dataplane::batch::BURST;
use dpdk::{Eal, Mbuf, Mempool, Port, PortConfig, RxQueue, TxQueue};

use crate::Result;
use crate::clock::time;

/// Either testpmd, or a loop of ours that does the same through our bindings.
#[derive(Debug)]
pub enum Unit {
    /// The program.
    Testpmd(Testpmd),
    /// The loop, where Debian's `dpdk-dev` is not installed.
    Loop(Loop),
}

impl Unit {
    /// Testpmd on `cpu` if there is one.
    pub fn new(eal: &Eal, pool: &Mempool, cpu: usize) -> Result<Self> {
        match Testpmd::start(cpu) {
            Ok(testpmd) => Ok(Self::Testpmd(testpmd)),
            Err(error) => {
                eprintln!("unit: our own loop, since testpmd does not run: {error}");
                Ok(Self::Loop(Loop::new(eal, pool)?))
            }
        }
    }

    /// Nanoseconds a packet.
    pub fn measure(&mut self) -> Result<f64> {
        match self {
            Self::Testpmd(testpmd) => testpmd.measure(),
            Self::Loop(ours) => Ok(ours.measure()),
        }
    }

    /// Which of the two.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Testpmd(_) => "testpmd, io forwarding over net_null",
            Self::Loop(_) => "our loop over net_null (testpmd is not installed: dpdk-dev)",
        }
    }
}

/// A running `dpdk-testpmd`, which forwards when it is told to.
#[derive(Debug)]
pub struct Testpmd {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Where the kernel says how long its forwarding thread has run.
    clock: String,
}

impl Testpmd {
    /// Starts it, its one forwarding lcore on `cpu`, with memory of its own.
    pub fn start(cpu: usize) -> Result<Self> {
        let lcores = format!("0@(0-{}),1@{cpu}", crate::clock::cpus() - 1);
        // Without stdbuf it keeps its answers until there are 4096 bytes of them.
        let mut child = Command::new("stdbuf")
            .args(["-o0", "dpdk-testpmd"])
            .args(["--lcores", &lcores, "--no-huge", "--no-shconf", "-m", "256", "--no-pci"])
            .args(["--no-telemetry", "--vdev", "net_null0", "--vdev", "net_null1", "--", "-i"])
            .args(["--forward-mode=io", "--nb-cores=1", "--total-num-mbufs=8192"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.ok_or("no input")?, output.ok_or("no output")?);
        let output = BufReader::new(output);
        let mut testpmd = Self { child, input, output, clock: String::new() };
        testpmd.read_until("testpmd>")?;
        testpmd.clock = testpmd.worker_clock()?;
        Ok(testpmd)
    }

    /// Lets it forward for a moment.
    fn measure(&mut self) -> Result<f64> {
        let before = self.cpu_ns()?;
        self.input.write_all(b"start\n")?;
        std::thread::sleep(Duration::from_millis(60));
        self.input.write_all(b"stop\n")?;
        self.read_until("Accumulated forward statistics")?;
        let statistics = self.read_until("TX-packets")?;
        let packets = statistics.split("RX-total:").nth(1).ok_or("no RX-total")?;
        let packets: f64 = packets.split_whitespace().next().ok_or("no RX-total")?.parse()?;
        self.read_until("testpmd>")?;
        Ok((self.cpu_ns()? - before) / packets)
    }

    fn cpu_ns(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(&self.clock)?;
        Ok(stat.split(' ').next().ok_or("no time")?.parse()?)
    }

    fn worker_clock(&self) -> Result<String> {
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let path = task?.path();
            let name = std::fs::read_to_string(path.join("comm"))?;
            if name.contains("worker-1") {
                return Ok(path.join("schedstat").to_string_lossy().into_owned());
            }
        }
        Err("testpmd has no forwarding thread".into())
    }

    fn read_until(&mut self, words: &str) -> Result<String> {
        let mut text = String::new();
        let mut byte = [0];
        while !text.ends_with(words) {
            self.output.read_exact(&mut byte)?;
            text.push(byte[0].into());
        }
        Ok(text)
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        let _ = self.input.write_all(b"quit\n");
        let _ = std::io::copy(&mut self.output, &mut std::io::sink());
        let _ = self.child.wait();
    }
}

/// Receive from one port and send to the other, as testpmd's `io` mode does.
#[derive(Debug)]
pub struct Loop {
    rx: RxQueue,
    tx: TxQueue,
    /// The other halves keep their ports open.
    _others: (TxQueue, RxQueue),
}

impl Loop {
    /// Opens two `net_null` ports.
    pub fn new(eal: &Eal, pool: &Mempool) -> Result<Self> {
        let mut one = Port::open(eal, "net_null8", pool, &PortConfig::default())?;
        let mut two = Port::open(eal, "net_null9", pool, &PortConfig::default())?;
        let ((rx, tx_one), (rx_two, tx)) = (one.split().remove(0), two.split().remove(0));
        Ok(Self { rx, tx, _others: (tx_one, rx_two) })
    }

    /// Nanoseconds a packet.
    pub fn measure(&mut self) -> f64 {
        const BURSTS: usize = 1 << 16;
        let mut frames = ArrayVec::<Mbuf, BURST>::new();
        let all = time(|| {
            for _ in 0..BURSTS {
                self.rx.receive(&mut frames, BURST);
                self.tx.send(&mut frames);
                frames.clear();
            }
        });
        all / (BURSTS * BURST) as f64
    }
}
