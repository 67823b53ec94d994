"""E"""


def real_images_report(table):
    return ""
