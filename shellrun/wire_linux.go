package shellrun

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// A request goes from the harness to the keeper. A start carries the output
// descriptor beside it.
type request struct {
	Op      string // opStart, opEnd
	ID      uint32
	Path    string   `json:",omitempty"`
	Args    []string `json:",omitempty"`
	Env     []string `json:",omitempty"`
	Dir     string   `json:",omitempty"`
	GraceMS int64    `json:",omitempty"`

	output int // the received descriptor, -1 for none
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

	Session uint32 `json:",omitempty"` // of a hello
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

// writeFrame sends v as a length and JSON. file, if not nil, travels with it.
// The caller serialises writers.
func writeFrame(conn *net.UnixConn, v any, file *os.File) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...)
	var rights []byte
	if file != nil {
		// Commands expect an output that blocks; Go's pipes do not.
		if err := unix.SetNonblock(int(file.Fd()), false); err != nil {
			return err
		}
		rights = unix.UnixRights(int(file.Fd()))
	}
	n, _, err := conn.WriteMsgUnix(frame, rights, nil)
	for err == nil && n < len(frame) {
		frame = frame[n:]
		n, err = conn.Write(frame)
	}
	return err
}

// readFrame reads one frame into v and returns the descriptor that came with
// it, or -1.
func readFrame(conn *net.UnixConn, v any) (fd int, err error) {
	var header [4]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := conn.ReadMsgUnix(header[:], oob)
	if err != nil {
		return -1, err
	}
	if n == 0 {
		return -1, io.EOF
	}
	fd = receivedFD(oob[:oobn])
	if _, err := io.ReadFull(conn, header[n:]); err != nil {
		return fd, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > maxFrame {
		return fd, fmt.Errorf("frame of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(conn, body); err != nil {
		return fd, err
	}
	return fd, json.Unmarshal(body, v)
}

func receivedFD(oob []byte) int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1
	}
	unix.CloseOnExec(fds[0])
	return fds[0]
}
