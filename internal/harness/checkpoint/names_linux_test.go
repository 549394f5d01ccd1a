package checkpoint_test

import "testing"

// TestNamesThatAreNotTextArePutBack is about names in another encoding than UTF-8: what
// comes back has the same bytes for a name, also after a rewind that was cut off.
func TestNamesThatAreNotTextArePutBack(t *testing.T) {
	const files = "mkdir $'d\\xff'; echo 1 > $'caf\\xe9.txt'; echo 2 > $'d\\xff/x\\xfe'; ln -s $'caf\\xe9.txt' $'l\\xe9'"
	const command = "rm -r $'caf\\xe9.txt' $'d\\xff' $'l\\xe9'; echo new > $'new\\xe8'"
	b := newBench(t, nil)
	b.outside(files)
	b.say("go")
	want := b.tree()
	b.bash(command)
	changed := b.tree()
	undo := b.rewind("", false)
	b.same(want)
	b.rewind(undo, false)
	b.same(changed)
	if err := b.plan("").ApplyUntil(t.Context(), b.session, 2); err != nil {
		t.Fatal(err)
	}
	if _, left := b.reopen(); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	b.same(want)
}
