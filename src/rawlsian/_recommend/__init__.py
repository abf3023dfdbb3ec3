"""Recommendation: candidates, their effect on people, and the choice among them."""
