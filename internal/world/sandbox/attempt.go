package sandbox

import "fmt"

// An Attempt is what a confined command tried to reach and its box does not have, seen at the
// system call.
type Attempt struct {
	Host    string `json:",omitempty"` // the address that it tried to reach
	Port    int    `json:",omitempty"`
	Bind    bool   `json:",omitempty"` // it is the port on which it listens, in the sandbox
	Socket  string `json:",omitempty"` // or the path of a Unix socket
	Process int    `json:",omitempty"` // or the process that it tried to signal
	Name    string `json:",omitempty"` // the name of that process, if it can be seen from the box
	Path    string `json:",omitempty"` // or the file or folder that it tried to change
	Maybe   bool   `json:",omitempty"` // that it was opened for writing need not mean that it was to be changed
	Listing bool   `json:",omitempty"` // or the list of processes, of which it saw its own
	Sockets bool   `json:",omitempty"` // or the list of connections and ports
}

func (a Attempt) String() string {
	switch {
	case a.Listing:
		return "the other processes of this machine"
	case a.Sockets:
		return "the list of this machine's ports and connections: it saw those of the sandbox"
	case a.Socket != "":
		return "the socket " + a.Socket
	case a.Process != 0 && a.Name == "":
		return fmt.Sprintf("process %d, which is not in it", a.Process)
	case a.Process != 0:
		return fmt.Sprintf("process %d (%s)", a.Process, a.Name)
	case a.Bind:
		return fmt.Sprintf("port %d, which another program on this machine uses", a.Port)
	case a.Port == 53:
		return "the name server " + a.Host
	case a.Local():
		return fmt.Sprintf("localhost:%d", a.Port)
	}
	return fmt.Sprintf("%s:%d", a.Host, a.Port)
}

// Local reports whether it is an address of the loopback interface.
func (a Attempt) Local() bool {
	return a.Host == "127.0.0.1" || a.Host == "::1" || len(a.Host) > 4 && a.Host[:4] == "127."
}
