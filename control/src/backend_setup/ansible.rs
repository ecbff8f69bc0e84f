//! Steps → Ansible tasks: the shell script, there and back, as a unit that runs at every boot. Only
//! modules that come with Ansible itself.

use super::{Setup, sh};

/// The tasks that set a host up.
pub fn up(setup: &Setup) -> String {
    let service = &setup.service;
    let (unit, directory) = (unit(setup), DIRECTORY);
    format!(
        r#"# Tasks for the backends of service {service}: the commands of
# `windrose backend-setup {service}`, as a unit that runs at every boot and takes them back when it stops.
# What was set up with another encapsulation or other VIPs is taken back first.
- name: Directory of Windrose's scripts
  ansible.builtin.file:
    path: {directory}
    state: directory
    mode: "0755"

- name: Scripts and unit of the backends of service {service}, compared
  ansible.builtin.copy: &up
    dest: {directory}/{unit}-up
    mode: "0755"
    content: |
{up}  check_mode: true
  diff: false
  register: windrose_up

- name: What was set up before is taken back
  ansible.builtin.systemd:
    name: {unit}.service
    state: stopped
  when: windrose_up is changed
  failed_when: false

- name: Script that sets up
  ansible.builtin.copy: *up

- name: Script that takes it back
  ansible.builtin.copy:
    dest: {directory}/{unit}-undo
    mode: "0755"
    content: |
{undo}
- name: Unit that runs them
  ansible.builtin.copy:
    dest: /etc/systemd/system/{unit}.service
    mode: "0644"
    content: |
      [Unit]
      Description=Backend of Windrose's service {service}
      Wants=network-online.target
      After=network-online.target

      [Service]
      Type=oneshot
      RemainAfterExit=yes
      ExecStart={directory}/{unit}-up
      ExecStop={directory}/{unit}-undo

      [Install]
      WantedBy=multi-user.target
  register: windrose_unit

# With --check a unit that is not there yet cannot be asked for.
- name: Set up now and at every boot
  ansible.builtin.systemd:
    name: {unit}.service
    daemon_reload: true
    enabled: true
    state: started
  when: not ansible_check_mode or windrose_unit is not changed
"#,
        up = indented(&sh::up(setup)),
        undo = indented(&sh::undo(setup)),
    )
}

/// The tasks that take it back.
pub fn undo(setup: &Setup) -> String {
    let (service, unit) = (&setup.service, unit(setup));
    format!(
        r#"# Tasks that take back what a backend of service {service} needed.
- name: Take back what was set up
  ansible.builtin.systemd:
    name: {unit}.service
    enabled: false
    state: stopped
  failed_when: false

- name: Remove scripts and unit
  ansible.builtin.file:
    path: "{{{{ item }}}}"
    state: absent
  loop:
    - /etc/systemd/system/{unit}.service
    - {DIRECTORY}/{unit}-up
    - {DIRECTORY}/{unit}-undo

- name: Forget the unit
  ansible.builtin.systemd:
    daemon_reload: true
"#
    )
}

const DIRECTORY: &str = "/usr/local/lib/windrose";

fn unit(setup: &Setup) -> String {
    format!("windrose-backend-{}", setup.service)
}

/// As the content of a block of YAML.
fn indented(script: &str) -> String {
    let line = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("      {line}\n"),
    };
    script.lines().map(line).collect()
}
