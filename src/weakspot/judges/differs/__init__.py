"""Do two texts differ in what one would see?"""
