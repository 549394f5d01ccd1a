package serve

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/session"
)

// A list is what is known of all sessions. A journal is folded when it is first listed
// and when it has grown; only a session that was written to lately keeps its fold, until
// clients look at the session: the watch then has it, and the list asks the watch.
type list struct {
	srv *Server

	mu      sync.Mutex
	known   map[string]*known // by path
	reading bool              // the rest of the journals is being folded
}

// known is what is known of a session.
type known struct {
	session.Info
	summary timeline.Summary
	read    int64 // the size of the journal that the summary is of; -1 if it has none
	fold    *timeline.Fold
}

const (
	readTime   = 300 * time.Millisecond // that a list may take to fold journals
	recentTime = 10 * time.Minute       // after which a session is expected to be quiet
	maxListed  = 64 << 20               // bytes of a journal that is folded for the list
)

// rows are the sessions of a folder, "" for all, those that were written to last first.
func (l *list) rows(ctx context.Context, cwd string, limit int) ([]Session, error) {
	infos, err := l.srv.back.List(ctx, &session.ListOptions{Cwd: cwd, Limit: limit, Known: l.unchanged})
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(readTime)
	rows := l.unwritten(infos, cwd)
	late := false
	for _, info := range infos {
		k := l.look(ctx, info, time.Now().Before(end))
		late = late || k.read != k.Size && k.Size <= maxListed
		rows = append(rows, l.row(k))
	}
	if late {
		l.readRest(infos)
	}
	return rows, ctx.Err()
}

// unchanged returns what is known of a file that is as it was.
func (l *list) unchanged(path string, size int64, modified time.Time) (session.Info, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.known[path]
	if k == nil || k.Size != size || !k.Modified.Equal(modified) {
		return session.Info{}, false
	}
	return k.Info, true
}

// look returns what is known of a session, up to date if it may take the time.
func (l *list) look(ctx context.Context, info session.Info, read bool) known {
	l.srv.mu.Lock()
	w := l.srv.watches[info.ID]
	l.srv.mu.Unlock()
	var now timeline.Summary
	watched := w != nil && w.summarize(&now)
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.known[info.Path]
	if k == nil {
		k = &known{read: -1}
		l.known[info.Path] = k
	}
	k.Info = info
	if watched {
		k.summary, k.read, k.fold = now, 0, nil // the watch may not have read all of it when it ends
		up := *k
		up.read = info.Size
		return up
	}
	if read && k.read != info.Size && info.Size <= maxListed {
		k.refresh(ctx)
	}
	if time.Since(info.Modified) > recentTime {
		k.fold = nil
	}
	return *k
}

// summarize fills in the summary of a session, if its journal has been read. A watch that is
// locked may ask the list for a fold, so the list is not locked here.
func (w *watch) summarize(s *timeline.Summary) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.path == "" || !w.caughtUp {
		return false
	}
	*s = w.fold.Summary()
	return true
}

// handOver returns the fold of a journal that the list has and does not need any more, nil if
// there is none.
//
// The server is locked here. A list that folds a long journal is not waited for: the watch then
// reads its journal itself.
func (l *list) handOver(path string) *timeline.Fold {
	if !l.mu.TryLock() {
		return nil
	}
	defer l.mu.Unlock()
	k := l.known[path]
	if k == nil || k.read < 0 {
		return nil // or only some of it is read
	}
	fold := k.fold
	k.fold = nil
	return fold
}

// refresh folds what the journal has.
func (k *known) refresh(ctx context.Context) {
	if k.fold == nil {
		var err error
		if k.fold, err = timeline.Follow(k.Path); err != nil {
			return
		}
	}
	for {
		more, err := k.fold.Next(ctx)
		if err != nil {
			return
		}
		if !more {
			break
		}
	}
	k.summary, k.read = k.fold.Summary(), k.Size
}

// readRest folds journals that the list had no time for. Streams of the list tell.
func (l *list) readRest(infos []session.Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading {
		return
	}
	l.reading = true
	go func() {
		for _, info := range infos {
			if l.srv.context.Err() != nil {
				break
			}
			l.look(l.srv.context, info, true)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.reading = false
	}()
}

// unwritten are sessions that this server leads in which nothing was said yet.
func (l *list) unwritten(infos []session.Info, cwd string) []Session {
	watches := l.srv.allWatches()
	slices.SortFunc(watches, func(a, b *watch) int { return b.began.Compare(a.began) }) // rows are large: sorting them is 30 KB of code
	rows := []Session{}
	for _, w := range watches {
		if slices.ContainsFunc(infos, func(i session.Info) bool { return i.ID == w.id }) || !w.unwritten() {
			continue
		}
		if row := w.row(); cwd == "" || row.Cwd == cwd {
			rows = append(rows, row)
		}
	}
	return rows
}

// unwritten reports whether the session runs here and has no journal yet.
func (w *watch) unwritten() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.path == "" && w.link != nil
}

// row is a session as the list shows it.
func (l *list) row(k known) Session {
	l.srv.mu.Lock()
	w := l.srv.watches[k.ID]
	l.srv.mu.Unlock()
	row := rowOf(&k.Info, &k.summary)
	row.Partial = k.read < 0
	if w != nil {
		row.judge(w.status(&row), &k.summary)
	} else {
		status := l.srv.back.Status(k.ID, k.Path)
		status.fill(&row)
		row.judge(status, &k.summary)
	}
	return row
}

// rowOf is what the journal says of a session.
func rowOf(i *session.Info, s *timeline.Summary) Session {
	row := Session{
		ID: i.ID, Cwd: i.Cwd, Branch: i.Branch, Title: cmp.Or(s.Title, i.Title), Prompt: i.Prompt, Model: s.Model, Mode: s.Mode,
		Modified: milliseconds(i.Modified), Created: milliseconds(i.Created), Cost: s.Cost, Unpriced: s.Unpriced, Usage: s.Usage,
		Turns: s.Turns, Calls: s.Calls, Items: s.Items, Asking: s.Asking, Last: s.Last, Size: i.Size,
	}
	return row
}

func milliseconds(t time.Time) timeline.Time {
	if t.IsZero() {
		return 0
	}
	return timeline.Time(t.UnixMilli())
}

// status fills in who leads a session, and returns it.
func (w *watch) status(row *Session) Status {
	s := w.srv.back.Status(w.id, w.file())
	w.mu.Lock()
	defer w.mu.Unlock()
	s.fill(row)
	s.Working = s.Working || s.Running && w.begins()
	if !s.Working {
		s.Failed = cmp.Or(s.Failed, w.unsaved)
	}
	row.Asking = max(row.Asking, len(w.openQuestions().Questions))
	return s
}

// begins reports whether a prompt was just sent whose turn may not have begun. The watch is locked.
func (w *watch) begins() bool {
	if len(w.prompts) == 0 || time.Since(w.sent) > beginTime {
		return false
	}
	outcome, known := w.outcome(w.prompts[len(w.prompts)-1])
	return !known || outcome.State == OutcomeWaiting
}

// beginTime is how long a prompt that was sent may take to begin its turn.
const beginTime = 2 * time.Second

// file is the journal of the session, "" if there is none yet.
func (w *watch) file() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.path
}

// row is the session as it is now.
func (w *watch) row() Session {
	w.mu.Lock()
	path, summary, cwd := w.path, w.fold.Summary(), w.cwd
	w.mu.Unlock()
	info := session.Info{ID: w.id, Cwd: cwd, Created: w.began, Modified: w.began}
	if path != "" {
		info = w.srv.list.info(w.id, path, info)
	}
	row := rowOf(&info, &summary)
	row.judge(w.status(&row), &summary)
	return row
}

// info looks at a session, unless it is as it was.
func (l *list) info(id, path string, usual session.Info) session.Info {
	if stat, err := os.Stat(path); err == nil {
		if info, ok := l.unchanged(path, stat.Size(), stat.ModTime()); ok {
			return info
		}
	}
	if info, err := l.srv.back.Info(l.srv.context, id); err == nil {
		return info
	}
	return usual
}
