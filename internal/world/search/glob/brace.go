package glob

// expand turns {a,b} into one pattern for each alternative. Braces nest; inside a
// class, after a backslash, or around a single item they keep their place but not
// themselves.
func expand(p string) ([]string, error) {
	out := []string{}
	todo := []string{p}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		open, close, commas, err := firstBrace(p)
		if err != nil {
			return nil, err
		}
		if open < 0 {
			if out = append(out, p); len(out) > maxAlternatives {
				return nil, errBraces
			}
			continue
		}
		cuts := append(append([]int{open}, commas...), close)
		if len(todo)+len(cuts) > maxAlternatives {
			return nil, errBraces
		}
		for i := len(cuts) - 2; i >= 0; i-- {
			todo = append(todo, p[:open]+p[cuts[i]+1:cuts[i+1]]+p[close+1:])
		}
	}
	return out, nil
}

// firstBrace finds the first pair of braces and the commas directly inside it;
// open is -1 if there is none.
func firstBrace(p string) (open, close int, commas []int, err error) {
	open = -1
	depth := 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			i = classEnd(p, i)
		case '{':
			if depth++; depth == 1 {
				open = i
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth--; depth < 0 {
				return 0, 0, nil, errBraces
			}
			if depth == 0 {
				return open, i, commas, nil
			}
		}
	}
	if depth != 0 {
		return 0, 0, nil, errBraces
	}
	return -1, 0, nil, nil
}

// classEnd gives the place of the bracket that closes the class at i, or i itself.
func classEnd(p string, i int) int {
	j := i + 1
	if j < len(p) && (p[j] == '!' || p[j] == '^') {
		j++
	}
	for first := true; j < len(p); j++ {
		switch {
		case p[j] == '\\':
			j++
		case p[j] == ']' && !first:
			return j
		}
		first = false
	}
	return i
}
