package sched_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

func chatty(reports int) tool.Tool {
	return echo(func(d *tool.Def[note, string]) {
		d.Marks = func(note) tool.Marks { return tool.Marks{ConcurrencySafe: true} }
		d.Run = func(_ context.Context, c *tool.Call, _ note) (string, error) {
			for i := range reports {
				c.Report(tool.TextProgress{Text: fmt.Sprint(i)})
			}
			return "done", nil
		}
	})
}

func TestASlowReaderGetsTheNewestProgress(t *testing.T) {
	feed := sched.NewFeed()
	s := sched.New(&sched.Options{Judge: verdict(tool.Allow), Feeds: []*sched.Feed{feed}})
	s.Call(t.Context(), set(chatty(100_000)), "1", "Echo", []byte(`{}`)) // nobody reads
	feed.Close()
	var got []string
	for e := range feed.Events(t.Context()) {
		if p, ok := e.Progress.(tool.TextProgress); ok {
			got = append(got, p.Text)
		} else {
			got = append(got, e.State.String())
		}
	}
	if s := strings.Join(got, " "); s != "queued executing 99999 completed yielded" {
		t.Errorf("got %s", s)
	}
}

func TestAReaderGetsProgressAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := sched.NewFeed()
		next := make(chan struct{})
		tl := echo(func(d *tool.Def[note, string]) {
			d.Run = func(_ context.Context, c *tool.Call, _ note) (string, error) {
				c.Report(tool.TextProgress{Text: "half"})
				<-next
				return "", nil
			}
		})
		s := sched.New(&sched.Options{Judge: verdict(tool.Allow), Feeds: []*sched.Feed{feed}})
		go s.Call(t.Context(), set(tl), "1", "Echo", []byte(`{}`))
		for e := range feed.Events(t.Context()) {
			if e.Progress != nil {
				close(next)
			}
			if e.State == sched.Yielded {
				break
			}
		}
	})
}

func TestAReaderThatIsFarBehindIsToldWhatItMissed(t *testing.T) {
	feed := sched.NewFeed()
	s := sched.New(&sched.Options{Judge: verdict(tool.Allow), Feeds: []*sched.Feed{feed}})
	tools := set(chatty(0))
	const calls = 20_000 // of four states each
	for range calls / 10 {
		b := s.Start(t.Context(), &sched.BatchOptions{Tools: tools})
		for i := range 10 {
			b.Add(fmt.Sprint(i), "Echo", []byte(`{}`))
		}
		b.End()
		for range b.Outcomes() {
		}
	}
	feed.Close()
	read, missed := 0, 0
	for e := range feed.Events(t.Context()) {
		read++
		missed += e.Missed
	}
	if read != 1<<16 || read+missed != 4*calls {
		t.Errorf("read %d, missed %d of %d", read, missed, 4*calls)
	}
}

func TestAFeedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range sched.NewFeed().Events(ctx) {
		t.Error("an event out of nowhere")
	}
}
