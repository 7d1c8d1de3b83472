//go:build !unix

package redistest

func (p *process) pause() { p.tb.Skip("redistest: this system cannot stop and continue a process") }

func (p *process) resume() { p.pause() }
