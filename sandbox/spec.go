package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// A Spec says what a command may touch. Everything can be read and nothing can
// be written unless the Spec says otherwise; /tmp, /var/tmp, /dev/shm and /run
// are private to the box, and devices are those that every program expects.
//
// Paths are absolute, clean and free of symbolic links. The maker of a Spec
// resolves them once, before any command has run: a command could plant a link
// in a folder that it may write.
type Spec struct {
	// Write lists files and folders that can be written. Those that do not exist
	// are left out.
	Write []string `json:",omitempty"`
	// Read lists folders that can be read although they lie in a private
	// directory, such as a project below /tmp, or are one. With /tmp in it, TMPDIR
	// is elsewhere.
	Read []string `json:",omitempty"`
	// Scratch lists folders with a throw-away layer: programs see what is there
	// and can write, and nothing of it reaches the disk. The commands of a box
	// with the same Spec share the layer. Where the kernel refuses the layer the
	// folder stays read-only.
	Scratch []string `json:",omitempty"`
	// Protect lists paths below those of Write that cannot be written. One that
	// does not exist cannot be mounted over; what appears there is taken back
	// when the command has ended: see [Snapshot].
	Protect []string `json:",omitempty"`
	// Hide lists files and folders that look empty.
	Hide []string `json:",omitempty"`
	// Layers puts a fresh overlay on each folder, so that what the command
	// changes there can be looked at before it is applied. See [NewLayers].
	Layers []Layer `json:",omitempty"`

	// Network says how commands reach others. Servers on 127.0.0.1 inside the
	// box can always be reached by all commands of the box.
	Network Network `json:",omitempty"`
	// Reach decides which hosts a command with the network Proxied reaches; nil
	// refuses all. It is called at the same time from several goroutines.
	Reach func(host string, port int) error `json:"-"`

	// NoSockets refuses sockets of the file system, also those that the private
	// directories do not hide. Pairs of sockets can be made.
	NoSockets bool `json:",omitempty"`
	// KeepSignals lets no signal leave the commands of this Spec, not even to
	// other commands in the box.
	KeepSignals bool `json:",omitempty"`
}

// A Network is what commands can reach beside each other.
type Network int

const (
	// Offline refuses every host. The proxy still answers, so that programs
	// fail at once and the host that they wanted is known.
	Offline Network = iota
	// Proxied lets the hosts through that Spec.Reach allows, by HTTP and CONNECT.
	Proxied
	// Open is the network of the machine.
	Open
)

func (n Network) String() string {
	switch n {
	case Offline:
		return "none"
	case Proxied:
		return "proxy"
	case Open:
		return "open"
	}
	return fmt.Sprintf("Network(%d)", int(n))
}

// A Layer is an overlay on a folder. What is written goes to Upper, which the
// kernel needs empty together with Work on one file system. Without Work, Upper is
// a copy of the folder, which commands see in its place.
type Layer struct {
	Dir         string
	Upper, Work string
}

// Check reports a Spec that no box can keep.
func (s *Spec) Check() error {
	for _, path := range slices.Concat(s.Write, s.Read, s.Scratch, s.Protect, s.Hide) {
		if err := checkPath(path); err != nil {
			return err
		}
	}
	for _, l := range s.Layers {
		if err := errors.Join(checkPath(l.Dir), checkPath(l.Upper)); err != nil {
			return err
		}
		if l.Work == "" {
			continue
		}
		if err := checkPath(l.Work); err != nil {
			return err
		}
	}
	if s.Network < Offline || s.Network > Open {
		return fmt.Errorf("a sandbox has no network of kind %d", int(s.Network))
	}
	return nil
}

func checkPath(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("a sandbox needs clean absolute paths, but %q is not one", path)
	}
	return nil
}

// privateDirs are the directories of the machine that no box shows.
var privateDirs = []string{"/tmp", "/var/tmp", "/dev", "/dev/shm", "/run"}

// Resolve makes paths fit for a Spec: absolute, clean, without symbolic links. A
// path that does not exist keeps the part that does not; one that cannot be
// resolved is left out.
func Resolve(paths ...string) []string {
	var resolved []string
	for _, path := range paths {
		if real, ok := resolve(path); ok && !slices.Contains(resolved, real) {
			resolved = append(resolved, real)
		}
	}
	return resolved
}

func resolve(path string) (string, bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	var missing string
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, missing), true
		}
		if filepath.Dir(dir) == dir {
			return "", false
		}
		missing = filepath.Join(filepath.Base(dir), missing)
	}
}
