package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/front/qr"
)

// Devices are the phones and browsers that were paired by a code, each with a token of its
// own. A file that only the user can read has them, with hashes in place of tokens and
// codes. Nothing is kept in memory, so that a server and the command line see the same.
type Devices struct {
	file privateFile[deviceFile]
}

// The file's content.
type deviceFile struct {
	// Pairing is the code that can be used now; there is one at a time.
	Pairing *pairing       `json:"pairing,omitempty"`
	Devices []storedDevice `json:"devices"`
}

type pairing struct {
	Hash    string    `json:"hash"`
	Full    bool      `json:"full"`
	Expires time.Time `json:"expires"`
	Wrong   int       `json:"wrong"` // codes that were tried in vain
}

type storedDevice struct {
	Device
	Hash string `json:"hash"`
}

const (
	codeTime   = time.Minute // that a code can be used
	codeTries  = 6           // wrong ones, after which it cannot
	codeLength = 10          // of base 32: 50 bits
	deviceTime = 30 * 24 * time.Hour
	seenTime   = time.Hour // between notes of when a device was seen
	maxDevices = 50
)

// newCode returns a code that makes one device known within a minute. An earlier one ends.
// Full says that the device may do what the page on this machine can.
func (d *Devices) newCode(full bool) (code string, expires time.Time, err error) {
	code = rand.Text()[:codeLength]
	expires = time.Now().Add(codeTime)
	err = d.change(func(f *deviceFile) error {
		f.Pairing = &pairing{Hash: hashed(code), Full: full, Expires: expires}
		return nil
	})
	return code[:codeLength/2] + "-" + code[codeLength/2:], expires, err
}

// errWrongCode refuses a code. It does not say whether there is another one.
var errWrongCode = errors.New("the code is wrong, was already used, or is older than a minute")

// exchange gives a device a token for a code, which can be used once.
func (d *Devices) exchange(code, name string) (token string, err error) {
	code = strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(code), "-", ""))
	wrong := false
	err = d.change(func(f *deviceFile) error {
		p := f.Pairing
		if p == nil || time.Now().After(p.Expires) {
			f.Pairing, wrong = nil, true
			return nil
		}
		if !same(hashed(code), p.Hash) {
			if p.Wrong++; p.Wrong >= codeTries {
				f.Pairing = nil
			}
			wrong = true
			return nil
		}
		f.Pairing, token = nil, rand.Text()
		now := time.Now()
		f.Devices = append(f.Devices, storedDevice{Device{
			ID: strings.ToLower(rand.Text()[:6]), Name: name, Full: p.Full, Created: milliseconds(now), Expires: milliseconds(now.Add(deviceTime)), Seen: milliseconds(now),
		}, hashed(token)})
		if len(f.Devices) > maxDevices {
			f.Devices = f.Devices[1:]
		}
		return nil
	})
	if err == nil && wrong {
		err = errWrongCode
	}
	return token, err
}

// of returns the device that a token is of, and notes now and then that it was seen.
func (d *Devices) of(token string) (Device, bool) {
	f, err := d.read()
	if err != nil || token == "" {
		return Device{}, false
	}
	now := time.Now()
	n := slices.IndexFunc(f.Devices, func(s storedDevice) bool { return same(hashed(token), s.Hash) })
	if n < 0 || milliseconds(now) > f.Devices[n].Expires {
		return Device{}, false
	}
	found := f.Devices[n].Device
	if found.Seen < milliseconds(now.Add(-seenTime)) {
		_ = d.change(func(f *deviceFile) error { // without it the list shows an earlier time
			for i := range f.Devices {
				if f.Devices[i].ID == found.ID {
					f.Devices[i].Seen = milliseconds(now)
				}
			}
			return nil
		})
	}
	return found, true
}

// List returns the devices that are paired, the last one first.
func (d *Devices) List() ([]Device, error) {
	f, err := d.read()
	list := []Device{}
	for _, s := range slices.Backward(f.Devices) {
		if s.Expires >= milliseconds(time.Now()) {
			list = append(list, s.Device)
		}
	}
	return list, err
}

// ErrNoDevice says that no device has an id.
var ErrNoDevice = errors.New("there is no device with this id")

// Revoke shuts a device out.
func (d *Devices) Revoke(id string) error {
	return d.change(func(f *deviceFile) error {
		before := len(f.Devices)
		f.Devices = slices.DeleteFunc(f.Devices, func(s storedDevice) bool { return s.ID == id })
		if len(f.Devices) == before {
			return ErrNoDevice
		}
		return nil
	})
}

// change changes the file, from which devices fall out whose time is over.
func (d *Devices) change(do func(*deviceFile) error) error {
	return d.file.change(func(f *deviceFile) error {
		if err := do(f); err != nil {
			return err
		}
		f.Devices = slices.DeleteFunc(f.Devices, func(s storedDevice) bool { return s.Expires < milliseconds(time.Now()) })
		return nil
	})
}

// read reads the file. One that others can read or that is damaged is refused, so that no
// device is known.
func (d *Devices) read() (deviceFile, error) {
	f, err := d.file.read()
	if err != nil {
		return deviceFile{}, fmt.Errorf("could not read the paired devices: %w. To revoke all of them, delete %s", err, d.file.path)
	}
	return f, nil
}

// NewPairing makes a code for the server at an address that ends in a slash.
func (d *Devices) NewPairing(base string, full bool) (Pairing, error) {
	code, expires, err := d.newCode(full)
	if err != nil {
		return Pairing{}, err
	}
	p := Pairing{Code: code, URL: base + "#pair=" + code, Full: full, Expires: milliseconds(expires)}
	drawn, err := qr.Encode(p.URL)
	if err != nil {
		return Pairing{}, err
	}
	p.SVG, p.text = drawn.SVG(), drawn.Text()
	return p, nil
}

// hashed is what is kept of a token or code. They are random, so a plain hash will do.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
