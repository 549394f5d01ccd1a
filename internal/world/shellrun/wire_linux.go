package shellrun

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// A request goes from the harness to the keeper. A start carries the three
// standard descriptors beside it, and the one to hold, if any.
type request struct {
	Op      string // opStart, opEnd
	ID      uint32
	Path    string   `json:",omitempty"`
	Args    []string `json:",omitempty"`
	Env     []string `json:",omitempty"`
	Dir     string   `json:",omitempty"`
	GraceMS int64    `json:",omitempty"`

	Expendable bool `json:",omitempty"` // as in Command

	Box  json.RawMessage `json:",omitempty"` // the sandbox.Spec of a command that is to be confined
	Tmp  string          `json:",omitempty"` // its temporary directory, where it cannot have a private /tmp
	Port int             `json:",omitempty"` // of the proxy, where it has no network of its own

	files []int // the received descriptors
}

// names encodes or decodes what may be the name of a file, which need not be text.
func (r *request) names(code func(string) string) {
	r.Path, r.Dir, r.Tmp = code(r.Path), code(r.Dir), code(r.Tmp)
	r.Args, r.Env = slices.Clone(r.Args), slices.Clone(r.Env)
	for _, list := range [][]string{r.Args, r.Env} {
		for i := range list {
			list[i] = code(list[i])
		}
	}
}

// An event goes from the keeper to the harness.
type event struct {
	Op     string // opHello, opStarted, opGone
	ID     uint32
	PID    int      `json:",omitempty"`
	Err    string   `json:",omitempty"`
	Code   int      `json:",omitempty"`
	Signal int      `json:",omitempty"`
	Ended  []string `json:",omitempty"`
	Left   []int    `json:",omitempty"`
	UserNS int64    `json:",omitempty"`
	SysNS  int64    `json:",omitempty"`

	Tried []sandbox.Attempt `json:",omitempty"` // what a confined command wanted to reach outside

	Session uint32             `json:",omitempty"` // of a hello
	Failed  *sandbox.StepError `json:",omitempty"` // of a hello or a start: what could not be confined
	Gaps    []string           `json:",omitempty"` // of a box's hello
	Apart   bool               `json:",omitempty"` // of a box's hello: commands with different Specs are kept apart
}

const (
	opStart   = "start"
	opEnd     = "end"
	opHello   = "hello"
	opStarted = "started"
	opGone    = "gone"
)

// maxFrame bounds a frame against garbage on the socket; an environment with
// its arguments is at most a few MB on Linux.
const maxFrame = 64 << 20

// writeFrame sends v as a length and JSON. The files travel with it. The caller
// serialises writers.
func writeFrame(conn *net.UnixConn, v any, files ...*os.File) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...)
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, file := range files {
			// Commands expect files that block; Go's pipes do not.
			fds[i] = int(file.Fd())
			if err := unix.SetNonblock(fds[i], false); err != nil {
				return err
			}
		}
		rights = unix.UnixRights(fds...)
	}
	n, _, err := conn.WriteMsgUnix(frame, rights, nil)
	for err == nil && n < len(frame) {
		frame = frame[n:]
		n, err = conn.Write(frame)
	}
	return err
}

// How many descriptors travel with a start, and at most with a frame.
const (
	stdFiles = 3
	maxFiles = 4
)

// readFrame reads one frame into v and returns the descriptors that came with it.
func readFrame(conn *net.UnixConn, v any) (fds []int, err error) {
	var header [4]byte
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, _, _, err := conn.ReadMsgUnix(header[:], oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	fds = receivedFDs(oob[:oobn])
	if _, err := io.ReadFull(conn, header[n:]); err != nil {
		return fds, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > maxFrame {
		return fds, fmt.Errorf("frame of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(conn, body); err != nil {
		return fds, err
	}
	return fds, json.Unmarshal(body, v)
}

func receivedFDs(oob []byte) []int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return fds
}
