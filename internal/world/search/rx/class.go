package rx

func symmetric(a, b set) set { return a.union(b).minus(a.intersect(b)) }
