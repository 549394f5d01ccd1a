package sse

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/model"
)

// A Stream is the answer to a [Call].
type Stream struct {
	call     *Call
	ctx      context.Context // the caller's
	inner    context.Context // ends with the caller's, and when nothing comes
	cancel   context.CancelCauseFunc
	watchdog *time.Timer
	body     io.ReadCloser
	events   *reader
	whole    []byte
	limit    time.Duration // how long nothing may come now
	ended    bool          // the body has been read to its end
}

// Next returns the next event; io.EOF after the last one. Other errors are those
// of [Call.Post].
func (s *Stream) Next() (Event, error) {
	if err := s.ctx.Err(); err != nil {
		return Event{}, err // whatever is still in some buffer
	}
	ev, err := s.events.next()
	if err == nil {
		return ev, nil
	}
	s.ended = true
	if err == io.EOF {
		return Event{}, err
	}
	return Event{}, s.failure(err)
}

// Whole returns the document that a server sent which does not stream; nil if
// there are events to read.
func (s *Stream) Whole() []byte { return s.whole }

// Read is that of the body, watched.
func (s *Stream) Read(p []byte) (int, error) {
	s.watchdog.Reset(s.limit)
	n, err := s.body.Read(p)
	s.watchdog.Stop()
	if n > 0 {
		s.limit = s.call.Idle
	}
	return n, err
}

const (
	// patience is how long the caller waits for the end of a body after the last
	// event, and lastCall how long anybody does.
	patience = 5 * time.Millisecond
	lastCall = time.Second
)

// Close lets the connection go. If the answer came to its end, what follows the
// last event is read, because only then can the connection be used again; that
// is a matter of microseconds, and of another program if it is not.
func (s *Stream) Close() {
	s.watchdog.Stop()
	if s.body == nil || s.ended || s.inner.Err() != nil {
		s.release()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.release()
		s.watchdog.Reset(lastCall)
		_, _ = io.CopyN(io.Discard, s.body, 4096) // it is over either way
		s.watchdog.Stop()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// Abandon lets the connection go in the middle of an answer.
func (s *Stream) Abandon() {
	s.cancel(context.Canceled)
	s.Close()
}

func (s *Stream) release() {
	if s.body != nil {
		_ = s.body.Close() // it was only read
	}
	s.cancel(nil)
}

// open looks at how the answer begins.
func (s *Stream) open(resp *http.Response) error {
	if resp.StatusCode/100 != 2 {
		return s.refusal(resp)
	}
	body := bufio.NewReaderSize(s, 512)
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case kind == "text/event-stream":
		s.events = newReader(s)
		return nil
	case s.looksLikeEvents(body):
		s.events = newReader(body) // a proxy that forgot to say so
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxEvent))
	if err != nil {
		return s.failure(err)
	}
	s.ended = true
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' {
		s.whole = trimmed
		return nil
	}
	return notAStream(resp, kind, raw)
}

// notAStream is an answer that is neither events nor a document.
func notAStream(resp *http.Response, kind string, raw []byte) error {
	if kind == "" {
		kind = "something without a content type"
	}
	what := excerpt(raw)
	if what == "" {
		what = "nothing"
	}
	return &model.Error{
		Kind: model.Garbled, Status: resp.StatusCode, ShouldRetry: new(bool),
		Message: fmt.Sprintf("the server answered with %s instead of an event stream: %s. Check that the address is that of a model API", kind, what),
	}
}

func (s *Stream) looksLikeEvents(body *bufio.Reader) bool {
	head, _ := body.Peek(6) // a shorter body is no stream
	for _, begin := range []string{"event:", "data:", ":", "id:", "retry:"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return true
		}
	}
	return false
}

// failure is what a broken connection means.
func (s *Stream) failure(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if context.Cause(s.inner) == errStalled {
		return stalled(s.call, s.limit)
	}
	if err == errTooLarge {
		return Garbled("it is too large", err)
	}
	return lost(s.call, err)
}

// refusal is what an answer with an error status means.
func (s *Stream) refusal(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(s, maxRefusal))
	s.ended = err == nil && len(raw) < maxRefusal
	if err != nil && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	e := Parse(raw)
	e.Status = resp.StatusCode
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 {
		e.Message = "the server redirects to " + to + ". Use that address if you trust it"
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(resp.StatusCode))
		if page := excerpt(raw); page != "" {
			e.Message += ": " + page
		}
	}
	e.Kind = kind(e)
	e.RetryAfter = retryAfter(resp.Header)
	if word, err := strconv.ParseBool(resp.Header.Get("X-Should-Retry")); err == nil {
		e.ShouldRetry = &word
	}
	return e
}

// retryAfter is what the server asked for; 0 if nothing, or a time that is over. A time
// is compared with the server's own clock, if it says what that is: ours may be wrong.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(value); err == nil {
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		return max(date.Sub(now), 0)
	}
	return 0
}

// excerpt is what a user needs to see of a body that is not JSON: the title of
// a page, or how the text begins.
func excerpt(raw []byte) string {
	text := string(raw)
	if bytes.Contains(bytes.ToLower(raw[:min(len(raw), 1024)]), []byte("<html")) {
		title := regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`).FindStringSubmatch(text)
		if title == nil {
			return "a web page"
		}
		text = "a web page, “" + strings.TrimSpace(title[1]) + "”"
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	return shorten.To(text, 200)
}

func stalled(c *Call, limit time.Duration) error {
	return &model.Error{
		Kind:    model.Stalled,
		Message: fmt.Sprintf("%s stopped responding: nothing arrived for %v", host(c), limit),
		Err:     errStalled,
	}
}

// maxRefusal is how much of an error's body is read.
const maxRefusal = 64 << 10
