package needtest

// Every is the step at which a test walks through very many cases: 1 where [Thorough], as in
// a step of .ci/run, and n elsewhere. It is for cases of the same kind, none of which is there
// for what it alone shows.
func Every(n int) int {
	if Thorough() {
		return 1
	}
	return n
}
