package rank

// Bundle is one retained group of candidates, best first.
type Bundle struct {
	Members []int // indices of candidates, at most as many as asked for
	Total   int   // candidates of the group, the left out ones included
}

// Retain keeps the best groups of a ranked list. order holds indices of candidates, best
// first; group gives each candidate's group (start node and metapath), so that a group's
// rank is that of its best candidate. At most paths groups are kept, each with at most
// instances members. Groups come back in rank order.
func Retain(order []int, group func(candidate int) int, paths, instances int) []Bundle {
	var kept []Bundle
	place := make(map[int]int, paths)
	last, i := 0, -1 // the group of the candidate before, and its place; -1: not kept
	for _, c := range order {
		if g := group(c); g != last || i < 0 {
			known := false
			if i, known = place[g]; !known {
				if len(kept) == paths {
					i = -1
					continue
				}
				i = len(kept)
				place[g] = i
				kept = append(kept, Bundle{})
			}
			last = g
		}
		kept[i].Total++
		if len(kept[i].Members) < instances {
			kept[i].Members = append(kept[i].Members, c)
		}
	}
	return kept
}
