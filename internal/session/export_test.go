package session

// IsSaid tells whether a client has this label.
func IsSaid(label Label) bool {
	sessions.Lock()
	defer sessions.Unlock()
	for _, said := range sessions.said {
		if said[label.option()].Setting == label {
			return true
		}
	}
	return false
}
