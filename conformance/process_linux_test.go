package conformance

import "syscall"

// child makes a process end with the test that started it, however that ends.
func child() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
