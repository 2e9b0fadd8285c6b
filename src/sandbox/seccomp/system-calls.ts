/**
 * Numbers of system calls on x64 and arm64, from the kernel headers. From 424 on, the numbers are the same on all
 * architectures.
 */

/** Null if the architecture lacks the call. */
type Numbers = readonly [x64: number, arm64: number | null]

/** Refused with EPERM. */
export const REFUSED = {
  // Access to the memory or the descriptors of other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  // Keyrings, which namespaces do not isolate.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Large kernel subsystems that programs do not need and that have had many vulnerabilities.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  memfd_secret: [447, 447],
  // Mounts and other changes to the view of the file system.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  move_mount: [429, 429],
  open_tree: [428, 428],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  statmount: [457, 457],
  listmount: [458, 458],
  open_tree_attr: [467, 467],
  // Namespaces, in which a program would regain capabilities.
  setns: [308, 268],
  unshare: [272, 97],
  // Configuration of the machine.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  create_module: [174, null],
  query_module: [178, null],
  get_kernel_syms: [177, null],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  nfsservctl: [180, 42],
  lookup_dcookie: [212, 18],
  syslog: [103, 116],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  vhangup: [153, 58],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  // Obsolete calls, and access to I/O ports and segments.
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  ustat: [136, null],
  sysfs: [139, null],
  _sysctl: [156, null],
} as const satisfies Record<string, Numbers>

/** Allowed or rejected depending on their arguments. */
export const JUDGED = {
  clone: [56, 220],
  socket: [41, 198],
  ioctl: [16, 29],
} as const satisfies Record<string, readonly [x64: number, arm64: number]>

/** Its arguments are in memory, where a filter cannot see them. With ENOSYS, the C library falls back to `clone`. */
export const CLONE3 = 435

/** The newest call considered here, file_setattr of Linux 6.17. Newer calls return ENOSYS, even if the kernel has them. */
export const LATEST = 469
