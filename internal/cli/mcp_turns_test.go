package cli

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		enter := func(ctx context.Context, alone bool) chan func() {
			in := make(chan func(), 1)
			go func() {
				if leave, err := turns.enter(ctx, alone); err == nil {
					in <- leave
				}
			}()
			synctest.Wait()
			return in
		}
		waiting := func(what string, in chan func()) {
			t.Helper()
			if synctest.Wait(); len(in) != 0 {
				t.Errorf("%s runs", what)
			}
		}
		running := func(what string, in chan func()) (leave func()) {
			t.Helper()
			if synctest.Wait(); len(in) != 1 {
				t.Fatalf("%s does not run", what)
			}
			return <-in
		}
		ctx := t.Context()
		leaveFirst := running("a reader", enter(ctx, false))
		leaveSecond := running("a second reader beside it", enter(ctx, false))
		writer := enter(ctx, true)
		waiting("a writer beside readers", writer)
		late := enter(ctx, false)
		waiting("a reader that came after the writer", late)
		leaveFirst()
		waiting("a writer beside the second reader", writer)
		leaveSecond()
		leaveWriter := running("the writer", writer)
		waiting("the late reader beside the writer", late)

		gives, up := context.WithCancel(ctx)
		impatient := enter(gives, true)
		waiting("another writer", impatient)
		up() // and must hold nobody up
		leaveWriter()
		running("the late reader", late)()
		running("a writer afterwards", enter(ctx, true))()
		if len(turns.places) != 0 || len(turns.gate) != 0 {
			t.Errorf("%d places and %d gates are not given back", len(turns.places), len(turns.gate))
		}
	})
}
