package preview

// ReadLayer reads a layer on a folder and returns how many paths changed.
func ReadLayer(dir, upper string) (int, error) {
	r := Request{}
	r.complete()
	c, err := readLayer(&reader{limits: r.Limits}, dir, upper, thisMoment())
	if err != nil {
		return 0, err
	}
	return len(c.entries), nil
}
