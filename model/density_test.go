package model_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

// A thousand conversations wait for the model at once, in one process with it.
func TestMemoryOfAThousandWaitingConversations(t *testing.T) {
	const n = 1000
	arrived, leave := make(chan struct{}, n), make(chan struct{})
	srv, err := script.Serve(&script.Options{Keep: -1, Unchecked: true, Answer: func(r *script.Request) script.Turn {
		arrived <- struct{}{}
		<-leave
		return script.Turn{Blocks: []script.Block{{Text: "hello"}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	m := anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "k"})
	h := &model.History{}
	if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("hi")}}); err != nil {
		t.Fatal(err)
	}
	before := inUse()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for _, err := range m.Stream(context.Background(), &model.Request{Model: "claude-opus-5-5", Messages: h}) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range n {
		<-arrived
	}
	each := (inUse() - before) / n >> 10
	close(leave)
	wg.Wait()
	t.Logf("%d KB for each, both sides of the connection", each)
	if each > 150 {
		t.Errorf("a conversation that waits takes %d KB", each)
	}
}

func inUse() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapInuse + s.StackInuse)
}
