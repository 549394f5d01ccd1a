package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/haftdev/haft/model"
)

const (
	// prefixStep is how much a journal must grow before its prefix is extended.
	prefixStep = 512 << 10
	// prefixMost is how much is read for that at once when a session is closed.
	prefixMost = 128 << 20
	// prefixQuiet is how long files must not have been written before their timestamps
	// prove that they are unchanged: clocks of file systems are coarse.
	prefixQuiet = 20 * time.Millisecond
)

// extend writes what was read as the prefix of the journal, or adds it to the prefix that
// the reading began with. It does nothing if that is not worthwhile, or if the conversation
// is in the middle of something. If it fails, it is tried again another time.
func (r *reading) extend(path string, journal *os.File, added []model.Message) *prefix {
	covered := int64(0)
	if r.prefix != nil {
		covered = r.prefix.index.Size
	}
	if r.end-covered < prefixStep || r.torn || len(r.chain) == 0 || !r.atRest(added) {
		return r.prefix
	}
	p, err := r.writePrefix(path, journal, added)
	if err != nil {
		dropPrefix(dirOf(path))
		return nil
	}
	return p
}

// atRest reports whether the conversation ends with a complete answer: every call has its
// result, and more was said since.
func (r *reading) atRest(added []model.Message) bool {
	return r.lost == 0 && len(added) > 0 && added[len(added)-1].Role == model.Assistant
}

func (r *reading) writePrefix(path string, journal *os.File, added []model.Message) (*prefix, error) {
	p := &prefix{dir: dirOf(path)}
	if r.prefix != nil {
		p.index = r.prefix.index
	} else {
		dropPrefix(p.dir)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	var encoded model.History
	if err := encoded.Append(added...); err != nil {
		return nil, err
	}
	sum, err := resumeHash(p.index.State)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(sum, io.NewSectionReader(journal, p.index.Size, r.end-p.index.Size)); err != nil {
		return nil, err
	}
	textSum, err := resumeHash(p.index.TextHash)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	table := binary.LittleEndian.AppendUint32(nil, uint32(encoded.Len()))
	table = binary.LittleEndian.AppendUint32(table, uint32(len(r.named)))
	for i := range encoded.Len() {
		text.Write(encoded.JSON(i))
		table = binary.LittleEndian.AppendUint32(table, uint32(len(encoded.JSON(i))))
	}
	for _, uuid := range r.named {
		table = binary.LittleEndian.AppendUint64(table, nameHash(uuid))
	}
	textSum.Write(text.Bytes())
	tableSum, err := resumeHash(p.index.TableHash)
	if err != nil {
		return nil, err
	}
	tableSum.Write(table)
	for name, at := range map[string]struct {
		from int64
		add  []byte
	}{textFile: {p.index.Text, text.Bytes()}, tableFile: {p.index.Table, table}} {
		if err := writeAt(filepath.Join(p.dir, name), at.from, at.add); err != nil {
			return nil, err
		}
	}
	p.index.Text += int64(text.Len())
	p.index.Table += int64(len(table))
	p.index.TableHash, p.index.TableSum = hashState(tableSum), hex.EncodeToString(tableSum.Sum(nil))
	r.fill(&p.index, sum, textSum)
	return p, p.index.save(p.dir)
}

func (r *reading) fill(x *prefixIndex, sum, textSum hash.Hash) {
	x.Version, x.Size, x.Sealed = prefixVersion, r.end, nil
	x.State, x.Sum = hashState(sum), hex.EncodeToString(sum.Sum(nil))
	x.TextHash, x.TextSum = hashState(textSum), hex.EncodeToString(textSum.Sum(nil))
	x.Last, x.Cwd, x.Damage, x.Tally = r.last(), r.cwd(), r.damage, r.all.kept()
}

func (t *tally) kept() keptTally {
	return keptTally{t.messages, t.states, t.usage, t.title, t.model, t.answer}
}

func writeAt(path string, at int64, b []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(at); err != nil { // what an interrupted write left
		return err
	}
	if _, err := file.WriteAt(b, at); err != nil {
		return err
	}
	return file.Sync()
}

// sealPrefix records the state of the files after the last write. It first reads what a
// long session has added, so that the next resume does not have to.
func (s *Session) sealPrefix(ctx context.Context) error {
	file, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	p := s.prefix
	covered := int64(0)
	if p != nil {
		covered = p.index.Size
	}
	grown := info.Size() - covered
	if grown >= prefixStep && grown <= prefixMost {
		r, err := readOn(ctx, s.path, p)
		if err != nil {
			return err
		}
		r.restoreBlobs(ctx, s.blobs)
		messages, lost := fold(r.chain, r.beside, r.calls)
		r.lost = len(lost)
		p = r.extend(s.path, file, messages)
	}
	if p == nil || !seals() {
		return nil
	}
	now, err := stampsOf(file, p.dir)
	if err != nil {
		return fmt.Errorf("seal session: %w", err)
	}
	quiet := time.Until(time.Unix(0, max(now.Journal.MTime, now.Text.MTime, now.Table.MTime)).Add(prefixQuiet))
	time.Sleep(min(quiet, prefixQuiet)) // files are from the future if the clock was set back
	p.index.Sealed = &now
	return p.index.save(p.dir)
}

// seals reports whether timestamps and inode numbers prove here that files are unchanged.
func seals() bool { return runtime.GOOS == "linux" }
