//! What two device strings have in common that drive the same thing.

/// What a device string names.
pub(super) struct Identity {
    /// DPDK's name: a PCI address with its domain, or a driver's name with a number.
    name: String,
    /// The kernel's interface under it.
    pub(super) interface: Option<String>,
}

/// A device string without its arguments; a PCI address with its domain.
pub(super) fn name_of_device(text: &str) -> String {
    let head = text.split(',').next().unwrap_or_default().trim().to_ascii_lowercase();
    let short = head.contains('.') && head.matches(':').count() == 1;
    if short { format!("0000:{head}") } else { head }
}

impl Identity {
    pub(super) fn of(text: &str) -> Self {
        let interface = text.split(',').find_map(|argument| argument.strip_prefix("iface="));
        Self { name: name_of_device(text), interface: interface.map(str::to_owned) }
    }

    /// Why two that are written differently cannot both be, and what helps; `as_written` is the
    /// other.
    pub(super) fn clash(&self, other: &Self, as_written: &str) -> Option<(String, String)> {
        match (&self.interface, &other.interface) {
            (Some(one), Some(another)) if one == another => {
                let why = format!("{as_written:?} is on the same interface");
                let help = "allowed: each interface once; several VLANs of one have the same device, to the letter";
                Some((why, help.into()))
            }
            _ if self.name == other.name => {
                let why = format!("{as_written:?} has the same name in DPDK, {}", self.name);
                let number = self.name.trim_end_matches(|c: char| c.is_ascii_digit());
                let help = match self.name.starts_with("net_") {
                    true => format!("number them: {number}0, {number}1, and so on"),
                    false => "allowed: each card once; several VLANs of one have the same device, to the letter".into(),
                };
                Some((why, help))
            }
            _ => None,
        }
    }
}
