package serve

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/session"
)

// searchRoutes are those that look for words in what was said and done.
func (s *Server) searchRoutes() []route {
	return []route{
		answers(http.StatusOK, "GET", "/search", "Where a text occurs in the most recently used sessions, or in one", s.search,
			parameter{"query", "the text, at least two characters; upper and lower case are alike"}, parameter{"session", "only this session"}),
	}
}

// How much a search finds, reads and takes.
const (
	maxHits       = 100
	hitsInOne     = 5 // of a search in all sessions
	maxJournal    = 64 << 20
	searchTime    = 5 * time.Second
	aroundHit     = 60 // bytes shown before and after a hit
	shortestQuery = 2
)

// search looks for a text in sessions.
func (s *Server) search(r *http.Request) (Hits, error) {
	out := Hits{Hits: []Hit{}}
	query := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("query")))
	if utf8.RuneCountInString(query) < shortestQuery {
		return out, invalid("Give a query of at least %d characters.", shortestQuery)
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	if id := r.URL.Query().Get("session"); id != "" {
		w, err := s.watch(id)
		if err != nil {
			return out, err
		}
		defer w.release()
		s.searchOne(ctx, &out, id, w.file(), query, maxHits)
		return out, nil
	}
	list, err := s.back.List(ctx, &session.ListOptions{Limit: usualList})
	if err != nil {
		return out, err
	}
	raw, err := plainjson.Marshal(query)
	if err != nil {
		return out, err
	}
	escaped := raw[1 : len(raw)-1] // as a journal has it, so that most are not decoded
	for i := range list {
		if len(out.Hits) >= maxHits || ctx.Err() != nil {
			out.More = true
			break
		}
		if mayHave(list[i].Path, escaped) {
			s.searchOne(ctx, &out, list[i].ID, list[i].Path, query, hitsInOne)
		}
	}
	return out, nil
}

// mayHave reports whether a text can be in a journal. One that cannot be read whole may have it.
func mayHave(path string, text []byte) bool {
	raw, cut, err := regular.Head(path, maxJournal)
	return err == nil && (cut || bytes.Contains(bytes.ToLower(raw), text))
}

// searchOne adds what is in one session. What is secret is not found: who may only watch could
// guess it letter by letter.
func (s *Server) searchOne(ctx context.Context, out *Hits, id, path, query string, most int) {
	if path == "" {
		return
	}
	v, err := timeline.Load(ctx, path)
	if err != nil {
		return // a session that was deleted meanwhile
	}
	found := 0
	for _, i := range v.Items(0, v.Summary().Items) {
		if ctx.Err() != nil || found >= most {
			out.More = true
			return
		}
		if text, ok := s.matching(timeline.Read(ctx, path, i), query); ok {
			out.Hits = append(out.Hits, Hit{Session: id, Item: i.Index, Kind: i.Kind, At: i.At, Text: text})
			found++
		}
	}
}

// matching returns the words around the query in an item.
func (s *Server) matching(d timeline.Detail, query string) (string, bool) {
	texts := []string{d.Text, string(d.Input)}
	if d.Call != nil {
		texts = append(texts, d.Call.Tool, d.Call.Result)
	}
	for _, text := range texts {
		if !strings.Contains(strings.ToLower(text), query) {
			continue
		}
		text = s.redact.Text(text)
		at := strings.Index(strings.ToLower(text), query)
		if at < 0 {
			continue
		}
		at = min(at, len(text)) // lower case may be longer
		from, to := max(0, at-aroundHit), min(len(text), at+len(query)+aroundHit)
		return strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " "), true
	}
	return "", false
}
