package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/rawname"
)

// A Spec says what a command may touch. Unless the Spec says otherwise, everything can
// be read and nothing can be written. /tmp, /var/tmp, /dev/shm and /run are private to
// the box, and /dev has only the devices that every program expects.
//
// Paths are absolute, clean and free of symbolic links. Resolve them once, before any
// command has run ([Resolve]): a command could plant a link in a folder that it may
// write.
type Spec struct {
	// Write lists files and folders that can be written. Those that do not exist
	// are ignored.
	Write []string `json:",omitempty"`
	// Read lists folders that can be read although they are in a private directory,
	// such as a project below /tmp, or are one themselves. If it contains /tmp, TMPDIR
	// is another folder.
	Read []string `json:",omitempty"`
	// Scratch lists folders with a throw-away layer: programs see their content and
	// can write to them, but nothing is written to the disk. Commands of a box with the
	// same Spec share the layer. If the kernel refuses the layer, the folder stays
	// read-only.
	Scratch []string `json:",omitempty"`
	// Protect lists paths below those in Write that cannot be written. If one does not
	// exist, nothing can be mounted over it: whatever appears there is moved away when
	// the command has ended. See [Snapshot].
	Protect []string `json:",omitempty"`
	// Settings lists the files with settings of git in Protect that commands can replace, as git
	// does, with settings that run nothing and lead nowhere else. See [gitconfig.Harmless].
	Settings []string `json:",omitempty"`
	// Hide lists files and folders that appear empty.
	Hide []string `json:",omitempty"`
	// Deny lists files and folders that cannot be opened, moved or changed.
	Deny []string `json:",omitempty"`
	// Pin lists folders that cannot be moved or removed, so that what lies in them keeps its
	// name.
	Pin []string `json:",omitempty"`
	// Unknown says why it is not known what the command must be kept from. No box can
	// enforce such a Spec, so that the command does not run; nil if all is known.
	Unknown error `json:"-"`
	// Tmp, if not nil, makes the temporary directories those of the machine, in a box: what
	// was there before the session can be read.
	Tmp *Tmp `json:"-"`
	// Foreign lists files and folders in Write that can only be read. Those that do not
	// exist are ignored.
	Foreign []string `json:",omitempty"`
	// Caches are patterns for names of files and folders, and absolute paths, for which it does
	// not matter that they could not be written, and of what lies in them.
	Caches []string `json:",omitempty"`
	// Thin leaves everything else as it is outside: files, directories, processes and
	// network. Only Protect, Deny and Pin count; Protect needs no folder of Write, and
	// paths that do not exist are ignored.
	Thin bool `json:",omitempty"`
	// Layers puts a fresh overlay on each folder, so that what the command
	// changes there can be looked at before it is applied. See [NewLayers].
	Layers []Layer `json:",omitempty"`

	// Network says which hosts commands can reach. They can always reach servers on
	// 127.0.0.1 inside the box.
	Network Network `json:",omitempty"`
	// Reach decides which hosts a command with the network Proxied may reach; nil
	// refuses all. It must be safe for concurrent use.
	Reach func(host string, port int) error `json:"-"`

	// NoSockets refuses all sockets in the file system, including those that the
	// private directories do not hide. Socket pairs are allowed.
	NoSockets bool `json:",omitempty"`
	// KeepSignals keeps commands of this Spec from signalling any other process,
	// including other commands in the box.
	KeepSignals bool `json:",omitempty"`
}

// A Network says what commands can reach apart from each other.
type Network int

const (
	// Offline refuses every host. The proxy still answers, so that programs fail at
	// once and the host that they tried to reach is known.
	Offline Network = iota
	// Proxied allows the hosts that Spec.Reach allows, by HTTP and CONNECT.
	Proxied
	// Open is the machine's network.
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

// A Layer is an overlay on a folder. Writes go to Upper. Upper and Work must be empty
// and on the same file system. Without Work, Upper is a copy of the folder, which
// commands see in its place.
type Layer struct {
	Dir         string
	Upper, Work string
}

// Hiding returns the Spec with more files and folders that appear empty and stay where they
// are. A nil Spec, which confines nothing, hides nothing.
func (s *Spec) Hiding(paths []string) *Spec {
	if s == nil || len(paths) == 0 {
		return s
	}
	more := *s
	paths = Resolve(paths...)
	more.Hide, more.Protect = slices.Concat(s.Hide, paths), slices.Concat(s.Protect, paths)
	return &more
}

// Holding returns the Spec with what rules deny: the files and folders that cannot be opened,
// those that cannot be written, and the folders above them. A nil Spec holds nothing.
func (s *Spec) Holding(deny, protect, pin []string) *Spec {
	if s == nil || len(deny)+len(protect) == 0 {
		return s
	}
	more := *s
	deny = Resolve(deny...)
	more.Deny = slices.Concat(s.Deny, deny)
	more.Protect = slices.Concat(s.Protect, Resolve(protect...))
	more.Settings = slices.DeleteFunc(slices.Clone(s.Settings), func(path string) bool {
		return slices.ContainsFunc(slices.Concat(deny, Resolve(protect...)), func(held string) bool { return pathin.Contains(held, path) })
	})
	if s.Thin {
		more.Pin = slices.Concat(s.Pin, Resolve(pin...))
	} else {
		more.Protect = slices.Concat(more.Protect, deny) // and the folders above stay where they are
	}
	return &more
}

// keeps reports whether commands cannot write a path, or cannot move it because of what lies in
// it, and whether that matters.
func (s *Spec) keeps(path string, moved bool) bool {
	deepest, kept := 0, true
	at := func(list []string, keep bool) {
		for _, dir := range list {
			if len(dir) >= deepest && pathin.Contains(dir, path) {
				deepest, kept = len(dir), keep
			}
			if keep && moved && pathin.Contains(path, dir) && exists(dir) {
				deepest, kept = len(path), true
			}
		}
	}
	at(privateDirs, false)
	at([]string{"/proc", "/sys"}, false)
	at(s.Read, true)
	at(s.Scratch, false)
	at(s.Write, false)
	for _, l := range s.Layers {
		at([]string{l.Dir}, false)
	}
	at(s.Foreign, true)
	at(slices.DeleteFunc(slices.Concat(s.Protect, s.Deny, s.Hide), func(path string) bool { return !exists(path) }), true) // what appears there is moved away
	return kept && !s.inCache(path)
}

// closesSocket reports whether commands cannot connect to a socket of the machine: one with a
// name that is no file, one in a folder that they have for themselves or behind a layer, and what
// is denied.
func (s *Spec) closesSocket(path string) bool {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(dir string) bool { return pathin.Contains(dir, path) })
	}
	behind := slices.ContainsFunc(s.Layers, func(l Layer) bool { return pathin.Contains(l.Dir, path) })
	return s.NoSockets || path[0] == '@' || behind || in(s.Deny) || in(s.Hide) || in(append([]string{"/var/run"}, privateDirs...)) && !in(s.Read) && !in(s.Write)
}

func (s *Spec) inCache(path string) bool {
	for _, cache := range s.Caches {
		if filepath.IsAbs(cache) {
			if pathin.Contains(cache, path) || pathin.Contains(path, cache) {
				return true
			}
			continue
		}
		for part := range strings.SplitSeq(path, "/") {
			if ok, _ := filepath.Match(cache, part); ok {
				return true
			}
		}
	}
	return false
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Check reports an error for a Spec that no box can enforce.
func (s *Spec) Check() error {
	if s.Unknown != nil {
		return s.Unknown
	}
	for _, path := range slices.Concat(s.Write, s.Read, s.Scratch, s.Protect, s.Hide, s.Deny, s.Pin, s.Foreign) {
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

// Snapshot records the protected paths that do not exist now.
func (s *Spec) Snapshot() *Snapshot {
	shot := &Snapshot{folders: map[string]Stamp{}}
	for _, path := range s.Protect {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) { // stamped before it is looked into
			if _, ok := shot.folders[dir]; !ok {
				shot.folders[dir] = StampOf(dir)
			}
			if shot.folders[dir].there() || dir == filepath.Dir(dir) {
				break
			}
		}
		if m, ok := missingOf(path); ok {
			shot.missing = append(shot.missing, m)
		}
	}
	return shot
}

func missingOf(path string) (missingPath, bool) {
	var m missingPath
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			m.dir = dir
			return m, m.rest != ""
		}
		m.rest = filepath.Join(filepath.Base(dir), m.rest)
	}
}

// seatbelt writes the Spec as a profile for sandbox-exec -p on macOS. It has not been
// tried on a Mac. Commands use tmp as their temporary directory, and the proxy listens
// on port of the loopback interface; 0 means that there is no proxy.
//
// macOS has neither private directories nor layers: Seatbelt refuses a Spec with
// Layers.
func (s *Spec) seatbelt(tmp string, port int) (string, error) {
	if err := s.Check(); err != nil {
		return "", err
	}
	if len(s.Layers) > 0 {
		return "", fmt.Errorf("put an overlay on %s: macOS has no overlays", s.Layers[0].Dir)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)")
	line("(deny default)")
	line("(allow process*)")
	if s.KeepSignals {
		line("(deny signal)\n(allow signal (target same-sandbox))")
	} else {
		line("(allow signal (target same-sandbox))")
	}
	line("(allow sysctl-read)\n(allow ipc-posix*)\n(allow pseudo-tty)")
	line(`(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.trustd.agent") (global-name "com.apple.SystemConfiguration.configd"))`)
	line("(allow file-read*)")
	line(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper") (regex #"^/dev/fd/"))`)
	line(`(allow file-ioctl (literal "/dev/tty"))`)
	for _, path := range append(slices.Clone(s.Write), tmp) {
		line("(allow file-write* (subpath %s))", seatbeltString(path))
	}
	for _, path := range s.Protect { // a later rule wins, and holds for names that do not exist yet
		line("(deny file-write* (subpath %s))", seatbeltString(path))
	}
	for _, path := range slices.Concat(s.Hide, s.Deny) {
		line("(deny file-read* file-write* (subpath %s))", seatbeltString(path))
	}
	switch {
	case s.Network == Open:
		line("(allow network*)\n(allow system-socket)")
	default:
		line(`(allow network-bind (local ip "localhost:*"))`)
		line(`(allow network-inbound (local ip "localhost:*"))`)
		if port != 0 {
			line(`(allow network-outbound (remote ip "localhost:%d"))`, port)
		}
	}
	return b.String(), nil
}

// seatbeltString quotes a path for a profile.
func seatbeltString(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// MarshalJSON encodes a Spec with paths as bytes, because they need not be valid UTF-8.
func (s Spec) MarshalJSON() ([]byte, error) {
	type plain Spec
	p := plain(s)
	for _, list := range []*[]string{&p.Write, &p.Read, &p.Scratch, &p.Protect, &p.Hide, &p.Deny, &p.Pin, &p.Settings} {
		*list = rawname.EncodeAll(*list)
	}
	p.Layers = nil
	for _, l := range s.Layers {
		p.Layers = append(p.Layers, Layer{rawname.Encode(l.Dir), rawname.Encode(l.Upper), rawname.Encode(l.Work)})
	}
	return json.Marshal(p)
}

// UnmarshalJSON decodes what MarshalJSON has encoded.
func (s *Spec) UnmarshalJSON(raw []byte) error {
	type plain Spec
	var p plain
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	for _, list := range []*[]string{&p.Write, &p.Read, &p.Scratch, &p.Protect, &p.Hide, &p.Deny, &p.Pin, &p.Settings} {
		*list = rawname.DecodeAll(*list)
	}
	for i, l := range p.Layers {
		p.Layers[i] = Layer{rawname.Decode(l.Dir), rawname.Decode(l.Upper), rawname.Decode(l.Work)}
	}
	*s = Spec(p)
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

// Resolve makes paths suitable for a Spec: absolute, clean and free of symbolic links.
// Of a path that does not exist, it resolves the part that does. It omits paths that
// cannot be resolved.
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
