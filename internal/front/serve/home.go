package serve

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// A Home is what the server of a user keeps between its runs: the token and the port, so
// that a page that is open finds it again. There is one server in it at a time.
type Home struct {
	// File has it; only the user can read it.
	File string
	// Token is what clients must know.
	Token string
	// Running is the address of the server that runs already, Others are its further
	// addresses, and PID is its process; "" and 0 if there is none. If there is one, the home
	// belongs to that process.
	Running string
	Others  []string
	PID     int

	port int
	lock *flock.Flock
}

// kept is what the file has.
type kept struct {
	Token  string   `json:"token"`
	Port   int      `json:"port"`
	URL    string   `json:"url"`
	Others []string `json:"otherUrls,omitempty"`
	PID    int      `json:"pid"`
}

// OpenHome opens the home in a folder. Renew chooses another token, which shuts out
// everyone who knows the old one, and every paired device.
func OpenHome(dir string, renew bool) (*Home, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("could not create the folder for the token: %w", err)
	}
	h := &Home{File: filepath.Join(dir, "serve.json"), lock: flock.New(filepath.Join(dir, "serve.lock"), flock.SetPermissions(0o600))}
	ours, err := h.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("could not lock %s: %w", h.lock.Path(), err)
	}
	k, err := h.read()
	if !ours {
		if err != nil {
			return nil, fmt.Errorf("another haft serve is starting; try again (%w)", err)
		}
		h.Token, h.Running, h.Others, h.PID, h.port = k.Token, k.URL, k.Others, k.PID, k.Port
		return h, nil
	}
	h.Token, h.port = k.Token, k.Port
	if err != nil || renew || len(k.Token) < tokenLength {
		h.Token = rand.Text()
	}
	if err := os.Remove(h.Logins().file.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, h.lock.Close()) // the codes of an earlier run
	}
	if renew {
		err := h.Devices().change(func(f *deviceFile) error {
			*f = deviceFile{}
			return nil
		})
		if err != nil {
			return nil, errors.Join(err, h.lock.Close())
		}
	}
	return h, nil
}

// tokenLength is that of 130 bits in base 32.
const tokenLength = 26

// read reads the file.
func (h *Home) read() (k kept, err error) {
	raw, err := readPrivate(h.File, 4096)
	if err != nil {
		return k, err
	}
	return k, json.Unmarshal(raw, &k)
}

// Listen listens on the loopback, at the port of last time if it is free.
func (h *Home) Listen() ([]net.Listener, error) {
	first, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(h.port)))
	if err != nil && h.port != 0 {
		first, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, err
	}
	list := []net.Listener{first}
	_, port, _ := net.SplitHostPort(first.Addr().String()) // a listener knows its port
	if second, err := net.Listen("tcp", net.JoinHostPort("::1", port)); err == nil {
		list = append(list, second) // a machine without IPv6 has none
	}
	return list, nil
}

// Save records the port and the addresses of this process's server.
func (h *Home) Save(port int, url string, others ...string) error {
	raw, err := json.Marshal(kept{h.Token, port, url, others, os.Getpid()})
	if err != nil {
		return err
	}
	return savePrivate(h.File, raw)
}

// Has reports whether the running server is called by a name, as Address takes it.
func (h *Home) Has(name string) bool {
	address := Address(name, strconv.Itoa(h.port), strings.HasPrefix(h.Running, "https://"))
	return address == h.Running || slices.Contains(h.Others, address)
}

// Close lets another server have the home.
func (h *Home) Close() error { return h.lock.Close() }

// Devices are those of the home's user.
func (h *Home) Devices() *Devices {
	return &Devices{privateFile[deviceFile]{filepath.Join(filepath.Dir(h.File), "devices.json")}}
}

// Logins are those of the home's server.
func (h *Home) Logins() *Logins {
	return &Logins{privateFile[loginFile]{filepath.Join(filepath.Dir(h.File), "logins.json")}}
}
