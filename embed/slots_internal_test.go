package embed

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAConversationWaitsWhileOthersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(2)
		for range 2 {
			if err := p.acquire(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 { // others that come before it
			go func() {
				if p.acquire(t.Context(), time.Hour) == nil {
					time.Sleep(50 * time.Second)
					p.release()
				}
			}()
		}
		synctest.Wait()
		time.AfterFunc(50*time.Second, p.release)
		if err := p.acquire(t.Context(), time.Minute); err != nil {
			t.Errorf("it gave up while others ended: %v", err)
		}
		time.Sleep(time.Hour)
		if err := p.acquire(t.Context(), time.Minute); err == nil || !strings.Contains(err.Error(), "2 conversations are open and none has ended for 1m0s") {
			t.Errorf("error %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.acquire(ctx, time.Minute); err == nil {
			t.Error("it does not end with its context")
		}
	})
}
