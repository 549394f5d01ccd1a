package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// A prefix is what the beginning of a journal says, kept beside it so that a long one
// need not be read again: the messages as they are sent, and what the lines add up to.
// The journal is the truth. The prefix is derived from it, is used only if the journal's
// beginning is what it was, and is made again otherwise.
//
// It is three files in the session's folder. Messages and the table of their lengths only
// grow; the index, replaced as a whole, says how much of them counts.
type prefix struct {
	dir   string
	index prefixIndex

	lengths []uint32 // of the messages
	names   [][]byte // of the lines' UUIDs: hashes of eight bytes, in no order, where the table has them
	text    []byte   // the messages, one after the other
}

// prefixIndex is the index as it is on the disk.
type prefixIndex struct {
	Version   int
	Size      int64  // how much of the journal is covered; a line ends there
	State     []byte // of the hash of so much of the journal
	Sum       string // its value
	Text      int64  // size of the messages
	TextSum   string
	TextHash  []byte // its state
	Table     int64  // size of the table
	TableSum  string
	TableHash []byte

	Last, Cwd string // of the last message, which is an answer without calls
	Damage    int
	Tally     keptTally

	// Sealed describes the files after the last write: as long as it still matches, nothing
	// has to be compared.
	Sealed *seal `json:",omitempty"`
}

// keptTally is a [tally].
type keptTally struct {
	Messages     int
	States       map[string]json.RawMessage
	Usage        map[string]model.Usage
	Title, Model string
	Answer       stop
}

// A seal describes the state of files, as far as the file system reports it.
type seal struct{ Journal, Text, Table stamp }

type stamp struct {
	Size, MTime, CTime int64
	Ino                uint64
}

const (
	prefixVersion = 1
	indexFile     = "resume-index.json"
	textFile      = "resume-messages"
	tableFile     = "resume-table"
	maxIndexSize  = 64 << 20
)

// readOn is read for the whole conversation, using the stored prefix. If the prefix is
// known to be valid, it is not looked up again.
func readOn(ctx context.Context, path string, p *prefix) (*reading, error) {
	t, err := openTail(path)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if p == nil {
		p = loadPrefix(path, t.file)
	}
	if p == nil || p.index.Size > t.size {
		return t.read(ctx, "", "")
	}
	t.floor = p.index.Size
	for {
		if err := errors.Join(ctx.Err(), t.grow()); err != nil {
			return nil, err
		}
		tree := plant(t.lines)
		if chain, ok := tree.chain("", false, false); ok && t.damaged == 0 && len(chain) > 0 && chain[0].isBoundary() {
			r := &reading{} // compacted since
			r.take(t, tree, chain, "")
			return r, nil
		}
		if t.atFloor() {
			break
		}
	}
	if r, ok := t.after(p); ok {
		return r, nil
	}
	again, err := openTail(path)
	if err != nil {
		return nil, err
	}
	defer again.close()
	return again.read(ctx, "", "")
}

// loadPrefix returns the prefix of the journal in an open file; nil if there is no valid
// one.
func loadPrefix(path string, journal *os.File) *prefix {
	p := &prefix{dir: dirOf(path)}
	raw, err := regular.Read(filepath.Join(p.dir, indexFile), maxIndexSize)
	if err != nil || !p.index.decode(raw) {
		return nil
	}
	x := &p.index
	now, err := stampsOf(journal, p.dir)
	if err != nil || now.Journal.Size < x.Size || now.Text.Size < x.Text || now.Table.Size < x.Table {
		return nil
	}
	if p.text, err = mapFile(filepath.Join(p.dir, textFile), x.Text); err != nil {
		return nil
	}
	table, err := mapFile(filepath.Join(p.dir, tableFile), x.Table)
	if err != nil || !p.decodeTable(table) {
		return nil
	}
	if x.Sealed != nil && *x.Sealed == now {
		return p
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(journal, 0, x.Size)); err != nil || hex.EncodeToString(sum.Sum(nil)) != x.Sum {
		return nil
	}
	if digest(p.text) != x.TextSum || digest(table) != x.TableSum {
		return nil
	}
	return p
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// decode reads an index: a line with its hash, and JSON.
func (x *prefixIndex) decode(raw []byte) bool {
	line, rest, ok := bytes.Cut(raw, []byte("\n"))
	return ok && string(line) == digest(rest) && json.Unmarshal(rest, x) == nil && x.Version == prefixVersion
}

// decodeTable parses the table, which has a part for each time that the prefix grew: the
// numbers of messages and names, then both.
func (p *prefix) decodeTable(raw []byte) bool {
	var parts [][]byte
	count, total := 0, int64(0)
	for len(raw) > 0 {
		if len(raw) < 8 {
			return false
		}
		lengths, names := int(binary.LittleEndian.Uint32(raw)), int(binary.LittleEndian.Uint32(raw[4:]))
		raw = raw[8:]
		if lengths < 0 || names < 0 || len(raw)/4 < lengths || (len(raw)-4*lengths)/8 < names {
			return false
		}
		parts, raw = append(parts, raw[:4*lengths]), raw[4*lengths:]
		p.names, raw = append(p.names, raw[:8*names]), raw[8*names:]
		count += lengths
	}
	p.lengths = make([]uint32, 0, count)
	for _, part := range parts {
		for ; len(part) > 0; part = part[4:] {
			n := binary.LittleEndian.Uint32(part)
			p.lengths, total = append(p.lengths, n), total+int64(n)
		}
	}
	return total == int64(len(p.text))
}

// messages adds the messages to a history, which then shares their memory.
func (p *prefix) messages(h *model.History) {
	h.Grow(len(p.lengths))
	at := 0
	for _, n := range p.lengths {
		end := at + int(n)
		h.AppendJSON(p.text[at:end:end])
		at = end
	}
}

func nameHash(uuid string) uint64 {
	sum := sha256.Sum256([]byte(uuid))
	return binary.LittleEndian.Uint64(sum[:])
}

// follows reports whether lines after the prefix can be added to it: none of them repeats a
// line of it or is part of something in it.
func (p *prefix) follows(lines []*line) bool {
	of, hashes := map[string]bool{}, map[uint64]bool{}
	for _, l := range lines {
		if l.UUID != "" {
			of[l.UUID], hashes[nameHash(l.UUID)] = true, true
		}
	}
	if slices.ContainsFunc(lines, func(l *line) bool { return l.extra().SummaryOf != "" && !of[l.extra().SummaryOf] }) {
		return false
	}
	if len(hashes) == 0 {
		return true
	}
	for _, names := range p.names {
		for ; len(names) > 0; names = names[8:] {
			if hashes[binary.LittleEndian.Uint64(names)] {
				return false
			}
		}
	}
	return true
}

// stampsOf returns how the files are.
func stampsOf(journal *os.File, dir string) (s seal, err error) {
	info, err := journal.Stat()
	if err != nil {
		return seal{}, err
	}
	s.Journal = stampOf(info)
	for name, to := range map[string]*stamp{textFile: &s.Text, tableFile: &s.Table} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			return seal{}, err
		}
		*to = stampOf(info)
	}
	return s, nil
}

func stampOf(info fs.FileInfo) stamp {
	ctime, ino := inode(info)
	return stamp{info.Size(), info.ModTime().UnixNano(), ctime, ino}
}

func (k *keptTally) tally() tally {
	return tally{messages: k.Messages, states: k.States, usage: k.Usage, title: k.Title, model: k.Model, answer: k.Answer}
}

// save writes the index.
func (x *prefixIndex) save(dir string) error {
	raw, err := plainjson.Marshal(x)
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, indexFile), append([]byte(digest(raw)+"\n"), raw...))
}

// replace writes a file completely or not at all.
func replace(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// dropPrefix deletes what is kept.
func dropPrefix(dir string) {
	for _, name := range []string{indexFile, textFile, tableFile} {
		os.Remove(filepath.Join(dir, name))
	}
}
