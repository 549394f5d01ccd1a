package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/attach"
	"github.com/haftdev/haft/internal/sys/linelimit"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
	"github.com/spf13/pflag"
)

// A submission is a prompt that a server runs. This process only follows it: it can end, or
// lose the server, and the prompt is answered nevertheless.
type submission struct {
	*converseFlags
	server    *attach.Server
	session   string
	prompt    string // its UUID
	from      string // the position in the journal of what was shown
	heard     *messages
	unwritten error // why output is missing
	partial   bool  // the pieces of answers are shown
	replay    bool  // the prompt is shown
	questions *unattended
	refused   *refusals
	submitted chan struct{} // closed when the server has the prompt
}

// refusedError is the error of a prompt that was not submitted.
func (s *submission) refusedError(err error) error {
	var refusal *serve.Problem
	if errors.As(err, &refusal) {
		return usageError{fmt.Errorf("could not submit the prompt to %s: %s", s.server.URL, visible.Text(refusal.Message))}
	}
	return fmt.Errorf("could not connect: %w", err)
}

// submit hands the prompt to the session that the flags name, or to a new one.
func (s *submission) submit(ctx context.Context, flags *pflag.FlagSet, text string, args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	s.session = s.Resume
	if s.Continue {
		newest, err := s.server.Newest(ctx, dir)
		if err != nil {
			return err
		}
		if s.session = newest.ID; s.session == "" {
			return serve.Refused(0, "no_session", fmt.Sprintf("there is no session in %s to continue.", dir))
		}
	}
	id, _ := flags.GetString("session-id") // it is defined
	if s.session == "" && id != "" {
		row, err := s.server.Get(ctx, id)
		var refusal *serve.Problem
		switch {
		case err == nil && row.Cwd != dir:
			return serve.Refused(0, "id_taken", fmt.Sprintf("session %s already exists and works in %s. Choose another --session-id, or run haft there.", id, row.Cwd))
		case err == nil:
			s.session = id // what it cannot be given any more is refused, as with --resume
		case !errors.As(err, &refusal) || refusal.Code != "no_session":
			return err
		}
	}
	if s.session == "" {
		if id == "" {
			id = session.NewUUID()
		}
		row, err := s.server.Submit(ctx, &serve.NewSession{ID: id, Cwd: dir, Prompt: text, UUID: s.prompt, Args: args, Unattended: true})
		s.session = row.ID
		return err
	}
	if fork, _ := flags.GetBool("fork-session"); fork {
		row, err := s.server.Fork(ctx, s.session, s.ResumeAt)
		if err != nil {
			return err
		}
		s.session = row.ID
	} else if s.ResumeAt != "" {
		return serve.Refused(0, "needs_fork", "--resume-session-at needs --fork-session on a server: others may watch the session.")
	}
	if err := s.change(ctx, args); err != nil {
		return err
	}
	if s.from, err = s.server.Position(ctx, s.session); err != nil { // what was said before is not shown
		return err
	}
	return s.server.Prompt(ctx, s.session, &serve.Prompt{UUID: s.prompt, Text: text})
}

// change applies flags to a session that exists.
func (s *submission) change(ctx context.Context, args []string) error {
	var c serve.SessionChange
	for _, a := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		switch name {
		case "model":
			c.Model = value
		case "permission-mode":
			c.Mode = value
		case "name":
			c.Title = value
		case "include-partial-messages", "replay-user-messages":
		default:
			return serve.Refused(0, "fixed", fmt.Sprintf("--%s cannot be changed for a session that exists: leave it out, or begin a new session.", name))
		}
	}
	if c == (serve.SessionChange{}) {
		return nil
	}
	return s.server.Change(ctx, s.session, &c)
}

// How long a second Ctrl-C is waited for, how long a server may be away, and the time between
// two looks at a prompt that nothing is heard of.
const (
	leaveTime  = 5 * time.Second
	awayTime   = 10 * time.Minute
	outcomeGap = 500 * time.Millisecond
	askTime    = 2 * time.Second // the same, while events are heard
)

// run submits the prompt and follows it. The first Ctrl-C leaves it, unless a second one cancels
// it.
func (s *submission) run(ctx context.Context, submit func(context.Context) error) error {
	follow, stop := context.WithCancel(ctx)
	defer stop()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt) // before the server has the prompt, so that none is left without a word
	defer signal.Stop(signals)
	done, unsent := make(chan error, 1), make(chan error, 1)
	var out serve.Outcome
	go func() {
		err := submit(follow)
		if err != nil {
			unsent <- err
			return
		}
		close(s.submitted)
		out, err = s.follow(follow)
		done <- err
	}()
	var leave <-chan time.Time
	for cancelled := false; ; {
		select {
		case err := <-unsent:
			if ctx.Err() != nil || cancelled {
				s.tellHow("")
				return codeError(exitCancelled)
			}
			return s.refusedError(err)
		case err := <-done:
			if ctx.Err() != nil {
				s.tellHow("The prompt is still being answered on the server.")
				return codeError(exitTerminated)
			}
			if err != nil {
				s.tellHow("The server may still be working on the prompt.")
				return fmt.Errorf("could not follow the prompt: %w", err)
			}
			return s.finish(&out)
		case <-signals:
			if leave == nil {
				fmt.Fprintf(s.Err, "haft: the server continues with the prompt. Press Ctrl-C again within %d seconds to cancel it\n", int(leaveTime.Seconds()))
				leave = time.After(leaveTime)
			} else if !cancelled {
				cancelled, leave = true, make(chan time.Time)
				signal.Stop(signals) // a third one ends this process
				go func() {
					select {
					case <-s.submitted:
						s.cancel(ctx)
					case <-time.After(leaveTime):
						stop()
					}
				}()
			}
		case <-leave:
			s.tellHow("The server continues with the prompt.")
			return codeError(exitCancelled)
		}
	}
}

// isSubmitted reports whether the server is known to have the prompt.
func (s *submission) isSubmitted() bool {
	select {
	case <-s.submitted:
		return true
	default:
		return false
	}
}

// tellHow says how to follow and cancel a prompt that is left.
func (s *submission) tellHow(first string) {
	if !s.isSubmitted() {
		fmt.Fprintf(s.Err, "haft: the server at %s has not answered, so it may or may not have received the prompt\n", s.server.URL)
		return
	}
	fmt.Fprintf(s.Err, "haft: %s\n  Follow it with: haft attach %s/s/%s\n  Cancel it with: haft attach %s/s/%s --cancel\n", first, s.server.URL, s.session, s.server.URL, s.session)
}

// cancel drops the prompt, or stops its turn. Those of others continue.
func (s *submission) cancel(ctx context.Context) {
	if err := s.server.CancelPrompt(ctx, s.session, s.prompt); err != nil {
		fmt.Fprintf(s.Err, "haft: could not cancel the prompt: %s\n", visible.Text(err.Error()))
	}
}

// follow shows what happens until the prompt has an outcome. Whatever was missed because the
// server or the connection was lost is in the journal, which is read on where it was left.
func (s *submission) follow(ctx context.Context) (serve.Outcome, error) {
	seen := time.Now()
	for {
		out, err := s.server.Outcome(ctx, s.session, s.prompt)
		var refusal *serve.Problem
		switch {
		case err == nil && out.State != serve.OutcomeWaiting:
			s.rest(ctx)
			return out, nil
		case err == nil:
			seen = time.Now()
			if err := s.watch(ctx); errors.Is(err, linelimit.ErrLong) {
				return out, err
			}
		case errors.As(err, &refusal) && refusal.Code != "ended", ctx.Err() != nil, time.Since(seen) > awayTime:
			return out, err
		}
		select {
		case <-time.After(outcomeGap):
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
}

// watch shows what happens until the prompt may have an outcome. One that it got before this was
// heard is asked for.
func (s *submission) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			select {
			case <-time.After(askTime):
			case <-ctx.Done():
			}
			if out, err := s.server.Outcome(ctx, s.session, s.prompt); err == nil && out.State != serve.OutcomeWaiting {
				return
			}
		}
	}()
	return s.server.Follow(ctx, &attach.Following{ID: s.session, From: s.from, Each: s.show, Questions: s.questions.opened})
}

// rest shows what the journal has beyond what was shown.
func (s *submission) rest(ctx context.Context) {
	if s.Output == "stream-json" || s.heard.all {
		ctx, cancel := context.WithTimeout(ctx, restTime)
		defer cancel()
		if err := s.server.Follow(ctx, &attach.Following{ID: s.session, From: s.from, UpToNow: true, Each: s.show}); errors.Is(err, linelimit.ErrLong) {
			fmt.Fprintf(s.Err, "haft: the output is not complete: %s\n", visible.Text(err.Error()))
		}
	}
}

// restTime is how long the end of a journal may take to come.
const restTime = 10 * time.Second

// show shows a message, and reports whether more should come: a result may be that of the
// prompt, which its outcome tells.
func (s *submission) show(m wire.Message) bool {
	s.refused.hear(m)
	switch m := m.(type) {
	case *wire.Result: // it is shown as the outcome
		return false
	case *wire.JournalPosition:
		s.from = m.Position
	case *wire.Informational:
		if m.SessionID == s.session && m.Level == "warning" && s.Output == "text" {
			fmt.Fprintf(s.Err, "haft: %s\n", visible.Indented(m.Content))
		}
	case *wire.StreamEvent:
		if !s.partial {
			return true
		}
	case *wire.User:
		if m.UUID == s.prompt {
			s.questions.begin()
		}
		if m.IsSynthetic || m.UUID == s.prompt && !s.replay {
			return true
		}
	case *wire.ControlResponse, *wire.ControlRequest, *wire.ControlCancelRequest:
		return true
	}
	s.write(m)
	return true
}

// write writes a message in the format that the user wants, or keeps it for the end.
func (s *submission) write(m wire.Message) {
	if s.Output != "stream-json" {
		_ = s.heard.Write(m) // what cannot be encoded is left out, as on the wire
		return
	}
	raw, err := wire.Encode(m)
	if err == nil {
		_, err = s.Out.Write(append(bytes.TrimSpace(raw), '\n'))
	}
	if s.unwritten == nil {
		s.unwritten = err
	}
}

// finish shows how the prompt ended, and returns the exit code.
func (s *submission) finish(out *serve.Outcome) error {
	result := &wire.Result{}
	if m, err := wire.Decode(out.Result); err == nil {
		if r, ok := m.(*wire.Result); ok {
			result = r
			s.write(r)
		}
	}
	if s.Output != "stream-json" {
		if err := s.converseFlags.show(s.heard); err != nil {
			return fmt.Errorf("could not write the answer: %w", err)
		}
	}
	if s.unwritten != nil {
		return fmt.Errorf("could not write the output: %w", s.unwritten)
	}
	s.showDenials(result.PermissionDenials)
	if out.Reason != "" && (s.Output != "text" || !slices.Contains(result.Errors, out.Reason)) { // else it was shown
		fmt.Fprintf(s.Err, "haft: the prompt was not answered: %s\n", visible.Text(out.Reason))
	}
	switch {
	case s.questions.gaveUp() && out.State == serve.OutcomeCancelled: // else the turn was faster
		return codeError(exitDenied)
	case out.State == serve.OutcomeQuarantined:
		s.tellHow("The session was quarantined. An operator can see why with: haft-fleet runs show " + s.session)
		return codeError(exitQuarantined)
	case out.State == serve.OutcomeLost:
		fmt.Fprintf(s.Err, "  Continue it with: haft -p --on %s --resume %s continue\n", s.server.URL, s.session)
		return codeError(exitFailed)
	case out.State == serve.OutcomeCancelled, strings.HasPrefix(result.TerminalReason, "aborted_"):
		return codeError(exitCancelled)
	case out.State == serve.OutcomeDone && out.Result == nil:
		fmt.Fprintf(s.Err, "haft: the prompt was answered, but its result is no longer available. Read the answer with: haft attach %s/s/%s\n", s.server.URL, s.session)
		return codeError(exitFailed)
	case out.State != serve.OutcomeDone, result.IsError:
		return codeError(exitFailed)
	case s.onAsk == onAskFail && (len(result.PermissionDenials) > 0 || s.questions.denied()):
		return codeError(exitDenied)
	}
	return nil
}

// showDenials says on standard error what was denied, if the output does not say it.
func (s *submission) showDenials(denials []wire.PermissionDenial) {
	if s.Output == "stream-json" {
		return
	}
	for _, line := range s.refused.lines(denials) {
		fmt.Fprintf(s.Err, "haft: %s\n", visible.Indented(line))
	}
}
